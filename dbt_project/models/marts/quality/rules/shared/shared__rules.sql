{#- The rules with the same meaning in every corpus: one CTE per rule, named after the rule; defects.toml describes
    each. The rules about texts are in shared__text_rules.
    Longer than 240 lines: one file per corpus, because each node costs dbt some 20 ms per build. -#}
{#- Two people with the same role, or with labels that are not documented, are two sides. -#}
{%- set side = "case when role in ('peer', 'unknown') then coalesce(source_speaker, role) else role end" -%}
with

dialogues as (
    select
        dialogue_key,
        corpus_id,
        source_part,
        dialogue_id,
        id_occurrence,
        turn_count,
        split,
        source_split,
        case split when 'train' then 0 when 'validation' then 1 when 'test' then 2 else 3 end as split_order
    from {{ ref('dim_dialogues') }}
),

-- A native id that occurs again in its part; its key gets ~2, ~3.
repeated_dialogue_id as (
    select
        corpus_id,
        dialogue_key,
        dialogue_key as row_key,
        {{ regexp_replace_all('dialogue_key', "'~[0-9]+$'", "''") }} as other_key,
        'occurrence ' || cast(id_occurrence as string) || ' of ' || dialogue_id || ' in ' || source_part as detail
    from dialogues
    where id_occurrence > 1
),

-- A native id that also occurs in an earlier part, so that it is not a key of the corpus.
reused_dialogue_id as (
    select
        corpus_id,
        dialogue_key,
        dialogue_key as row_key,
        first_key as other_key,
        dialogue_id || ' also occurs in ' || first_part as detail
    from (
        select
            *,
            first_value(source_part) over (
                partition by corpus_id, dialogue_id order by split_order, source_part, id_occurrence
            ) as first_part,
            first_value(dialogue_key) over (
                partition by corpus_id, dialogue_id order by split_order, source_part, id_occurrence
            ) as first_key
        from dialogues
    ) as parts
    where source_part <> first_part
),

-- A name of a split that is not documented; the dialogue has no split.
unknown_split as (
    select
        corpus_id,
        dialogue_key,
        dialogue_key as row_key,
        'split ' || source_split as detail
    from dialogues
    where split is null and source_split is not null
),

-- A speaker that is not documented; the role is unknown.
unknown_speaker as (
    select
        corpus_id,
        dialogue_key,
        turn_index,
        turn_key as row_key,
        'speaker ' || coalesce(source_speaker, 'NULL') as detail
    from {{ ref('fct_turns') }}
    where role = 'unknown'
),

-- An event that is not documented.
unknown_event as (
    select
        corpus_id,
        dialogue_key,
        turn_index,
        turn_key as row_key,
        'event ' || coalesce(source_event_type, 'NULL') as detail
    from {{ ref('fct_turns') }}
    where event_type = 'other'
),

vocabularies as (
    select
        corpus_id,
        act,
        position is not null as is_documented,
        max(case when position is not null then 1 else 0 end) over (partition by corpus_id) as has_vocabulary
    from {{ ref('dim_acts') }}
),

-- An act or a button that is missing from the corpus's own list.
unknown_act as (
    select
        actions.corpus_id,
        actions.dialogue_key,
        actions.turn_index,
        actions.action_key as row_key,
        actions.service,
        actions.slot_name,
        'act ' || actions.act as detail
    from {{ ref('fct_actions') }} as actions
    inner join vocabularies
        on
            actions.corpus_id = vocabularies.corpus_id
            and actions.act = vocabularies.act
    where not vocabularies.is_documented and vocabularies.has_vocabulary = 1
),

-- A dialogue without a turn.
empty_dialogue as (
    select
        corpus_id,
        dialogue_key,
        dialogue_key as row_key,
        'no turns' as detail
    from dialogues
    where turn_count = 0
),

sides as (
    select
        dialogue_key,
        min({{ side }}) as first_side,
        max({{ side }}) as last_side
    from {{ ref('fct_turns') }}
    group by dialogue_key
),

-- Only one side has turns, in a corpus with two sides.
one_sided_dialogue as (
    select
        dialogues.corpus_id,
        dialogues.dialogue_key,
        dialogues.dialogue_key as row_key,
        'all turns are of the speaker ' || sides.first_side || ': ' || cast(dialogues.turn_count as string) as detail
    from sides
    inner join dialogues
        on sides.dialogue_key = dialogues.dialogue_key
    inner join (
        select corpus_id
        from {{ ref('dim_speakers') }}
        group by corpus_id
        having count(distinct {{ side }}) > 1
    ) as conversations
        on dialogues.corpus_id = conversations.corpus_id
    where sides.first_side = sides.last_side
),

spaced_turns as (
    select
        corpus_id,
        dialogue_key,
        turn_index,
        turn_key,
        utterance,
        translate(utterance, chr(9) || chr(10) || chr(13), '   ') as spaced
    from {{ ref('fct_turns') }}
    where
        utterance = ''
        or utterance like ' %'
        or utterance like '% '
        or contains(utterance, chr(9))
        or contains(utterance, chr(10))
        or contains(utterance, chr(13))
        or contains(utterance, '  ')
),

-- A turn with no text.
blank_utterance as (
    select
        corpus_id,
        dialogue_key,
        turn_index,
        turn_key as row_key,
        'the utterance is blank' as detail
    from spaced_turns
    where trim(both ' ' from spaced) = ''
),

-- Blanks at the start or the end of the text; offsets count them.
blank_at_edge as (
    select
        corpus_id,
        dialogue_key,
        turn_index,
        turn_key as row_key,
        case
            when substring(spaced, 1, 1) <> ' ' then 'blank after '
            when right(spaced, 1) <> ' ' then 'blank before '
            else 'blanks around '
        end || trim(both ' ' from spaced) as detail
    from spaced_turns
    where spaced <> trim(both ' ' from spaced) and trim(both ' ' from spaced) <> ''
),

-- Two blanks in a row inside the text.
double_blank as (
    select
        corpus_id,
        dialogue_key,
        turn_index,
        turn_key as row_key,
        'two blanks inside ' || trim(both ' ' from spaced) as detail
    from spaced_turns
    where contains(trim(both ' ' || chr(9) || chr(10) || chr(13) from utterance), '  ')
),

-- A line break or a tab: a program that reads or writes one turn per line takes it for two turns.
line_break as (
    select
        corpus_id,
        dialogue_key,
        turn_index,
        turn_key as row_key,
        'line break or tab in ' || trim(both ' ' from spaced) as detail
    from spaced_turns
    where spaced <> utterance
),

numberings as (
    select
        corpus_id,
        first_number,
        row_number() over (partition by corpus_id order by turn_count desc, first_number) as preference
    from (
        select
            corpus_id,
            cast(source_turn_number as bigint) - turn_index as first_number,
            count(*) as turn_count
        from {{ ref('fct_turns') }}
        where source_turn_number is not null
        group by corpus_id, cast(source_turn_number as bigint) - turn_index
    ) as counted
),

-- The published number of a turn is not its position, counted from the start number of most turns of the corpus.
turn_number_gap as (
    select
        turns.corpus_id,
        turns.dialogue_key,
        turns.turn_index,
        turns.turn_key as row_key,
        'number ' || cast(turns.source_turn_number as string) || ' at position ' || cast(turns.turn_index as string)
            as detail
    from {{ ref('fct_turns') }} as turns
    inner join numberings
        on
            turns.corpus_id = numberings.corpus_id
            and numberings.preference = 1
    where cast(turns.source_turn_number as bigint) - turns.turn_index <> numberings.first_number
),

-- Two spans of a frame (or of a turn, if there are no frames) share characters; one row per pair, for the later span.
overlapping_spans as (
    select
        spans.corpus_id,
        spans.dialogue_key,
        spans.turn_index,
        spans.slot_key as row_key,
        others.slot_key as other_key,
        spans.service,
        spans.slot_name,
        spans.value || ' overlaps ' || others.value as detail
    from {{ ref('fct_slots') }} as spans
    inner join {{ ref('fct_slots') }} as others
        on
            spans.turn_key = others.turn_key
            and coalesce(spans.frame_index, 0) = coalesce(others.frame_index, 0)
            and spans.span_index > others.span_index
            and spans.start_char < others.end_char
            and spans.end_char > others.start_char
            and spans.start_char < spans.end_char
            and others.start_char < others.end_char
    where
        spans.annotation_type = 'span'
        and others.annotation_type = 'span'
        and coalesce(spans.annotation_index, 0) = 0
        and coalesce(others.annotation_index, 0) = 0
),

-- A key that the schema does not declare; source_extras keeps it.
unknown_key as (
    select
        corpus_id,
        source_file_id,
        cast(null as integer) as record_index,
        'key at ' || json_pointer as detail
    from {{ ref('source_extras') }}
),

-- A record that the schema rejects; source_quarantine keeps it.
refused_record as (
    select
        corpus_id,
        source_file_id,
        record_index,
        error as detail
    from {{ ref('source_quarantine') }}
),

losses as (
    select
        corpus_id,
        source_file_id,
        {{ explode_indexed('losses', 'loss', 'position') }}
    from {{ ref('dim_source_files') }}
),

-- Information that another form of the release has lost.
lossy_form as (
    select
        corpus_id,
        source_file_id,
        cast(null as integer) as record_index,
        loss as detail
    from losses
)

{{ stack_rules(
    turns=[
        'unknown_speaker',
        'unknown_event',
        'unknown_act',
        'blank_utterance',
        'blank_at_edge',
        'double_blank',
        'line_break',
        'turn_number_gap',
        'overlapping_spans'
    ],
    dialogues=[
        'repeated_dialogue_id',
        'reused_dialogue_id',
        'unknown_split',
        'empty_dialogue',
        'one_sided_dialogue'
    ],
    files=[
        'unknown_key',
        'refused_record',
        'lossy_form'
    ],
    others=[
        'repeated_dialogue_id',
        'reused_dialogue_id',
        'overlapping_spans'
    ],
    slots=[
        'unknown_act',
        'overlapping_spans'
    ],
    relations=[ref('shared__text_rules'), ref('shared__definition_rules')]
) }}
