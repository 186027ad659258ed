{#- Defects and properties of Taskmaster-1: one CTE per rule, named after the rule; claims.toml describes each under
    [[defects]].
    Longer than 240 lines: one file per corpus, because each node costs dbt some 20 ms per build. -#}
with

-- A turn that the publisher removed; its text is replaced.
deleted_turn as (
    select
        dialogue_key,
        turn_index,
        turn_key as row_key,
        'the text is (deleted)' as detail
    from {{ ref('fct_turns') }}
    where corpus_id = 'taskmaster1' and utterance = '(deleted)'
),

-- The same speaker says the same text twice in a row.
repeated_turn as (
    select
        turns.dialogue_key,
        turns.turn_index,
        turns.turn_key as row_key,
        last_turns.turn_key as other_key,
        'repeats the previous turn: ' || turns.utterance as detail
    from {{ ref('fct_turns') }} as turns
    inner join {{ ref('fct_turns') }} as last_turns
        on
            turns.dialogue_key = last_turns.dialogue_key
            and turns.turn_index = last_turns.turn_index + 1
            and turns.source_speaker = last_turns.source_speaker
            and turns.utterance = last_turns.utterance
    where
        turns.corpus_id = 'taskmaster1'
        and last_turns.corpus_id = 'taskmaster1'
        and turns.utterance <> '(deleted)'
),

own_turns as (
    select
        dialogue_key,
        turn_index,
        source_speaker,
        lag(turn_index, 5) over (partition by dialogue_key, source_speaker order by turn_index) as fifth_last_turn,
        lag(turn_index, 6) over (partition by dialogue_key, source_speaker order by turn_index) as sixth_last_turn
    from {{ ref('fct_turns') }}
    where corpus_id = 'taskmaster1'
),

-- The sixth turn in a row of one speaker; later turns of the same row are not listed.
long_run as (
    select
        dialogue_key,
        turn_index,
        dialogue_key || '/' || cast(turn_index as string) as row_key,
        dialogue_key || '/' || cast(fifth_last_turn as string) as other_key,
        'sixth turn in a row by ' || source_speaker as detail
    from own_turns
    where
        fifth_last_turn = turn_index - 5
        and (sixth_last_turn is null or sixth_last_turn <> turn_index - 6)
),

-- A slot that is listed both as required and as optional.
definitions as (
    select
        service,
        slot,
        max(case requirement when 'required' then 1 else 0 end) as is_required
    from {{ ref('dim_slots') }}
    where corpus_id = 'taskmaster1' and {{ is_first('slot_definition_key') }}
    group by service, slot
),

labels as (
    select
        spans.dialogue_key,
        spans.turn_index,
        spans.slot_key,
        spans.service,
        spans.slot_name,
        spans.source_label,
        dialogues.task,
        services.domain,
        definitions.slot,
        definitions.is_required
    from {{ ref('fct_slots') }} as spans
    inner join {{ ref('dim_dialogues') }} as dialogues
        on spans.dialogue_key = dialogues.dialogue_key
    left join {{ ref('dim_services') }} as services
        on
            spans.corpus_id = services.corpus_id
            and spans.service = services.service
            and {{ is_first('services.service_definition_key') }}
    left join definitions
        on
            spans.service = definitions.service
            and spans.slot_name = definitions.slot
    where spans.corpus_id = 'taskmaster1' and spans.source_label is not null
),

-- The text of a segment differs from the part of the utterance that it marks; one row per segment.
misplaced_segment as (
    select
        spans.dialogue_key,
        spans.turn_index,
        spans.slot_key as row_key,
        spans.service,
        spans.slot_name,
        'characters ' || cast(spans.start_char as string) || ' to ' || cast(spans.end_char as string)
            || ' of the text are not ' || spans.value as detail
    from {{ ref('fct_slots') }} as spans
    inner join {{ ref('fct_turns') }} as turns
        on spans.turn_key = turns.turn_key
    where
        spans.corpus_id = 'taskmaster1'
        and spans.annotation_type = 'span'
        and coalesce(spans.annotation_index, 0) = 0
        and (
            spans.start_char < 0
            or spans.end_char not between spans.start_char and length(turns.utterance)
            or spans.value <> {{ text_between('turns.utterance', 'spans.start_char', 'spans.end_char') }}
        )
),

domains as (
    select domain
    from {{ ref('dim_services') }}
    where corpus_id = 'taskmaster1'
),

labeled_dialogues as (
    select
        dialogue_key,
        max(case when is_required = 1 and domain = task then 1 else 0 end) as has_required
    from labels
    group by dialogue_key
),

-- A dialog without a single label.
unannotated_dialogue as (
    select
        dialogues.dialogue_key,
        dialogues.dialogue_key as row_key,
        'none of the ' || cast(dialogues.turn_count as string) || ' turns has a label' as detail
    from {{ ref('dim_dialogues') }} as dialogues
    left join labeled_dialogues
        on dialogues.dialogue_key = labeled_dialogues.dialogue_key
    where
        dialogues.corpus_id = 'taskmaster1'
        and labeled_dialogues.dialogue_key is null
),

-- The README says that dialogs without any required parameter were removed. Another rule covers dialogs without any
-- label.
no_required_label as (
    select
        dialogues.dialogue_key,
        dialogues.dialogue_key as row_key,
        'no label of a parameter that ' || dialogues.task || ' requires' as detail
    from labeled_dialogues
    inner join {{ ref('dim_dialogues') }} as dialogues
        on labeled_dialogues.dialogue_key = dialogues.dialogue_key
    inner join domains
        on dialogues.task = domains.domain
    where labeled_dialogues.has_required = 0
),

-- A label of another domain than the dialog's. Another rule covers dialogs without a domain.
foreign_label as (
    select
        labels.dialogue_key,
        labels.turn_index,
        labels.slot_key as row_key,
        labels.service,
        labels.slot_name,
        labels.source_label || ' in a dialog about ' || labels.task as detail
    from labels
    inner join domains
        on labels.task = domains.domain
    where labels.domain <> labels.task
),

-- A label that the ontology does not list. Another rule covers labels that name no slot.
unknown_label as (
    select
        dialogue_key,
        turn_index,
        slot_key as row_key,
        service,
        slot_name,
        source_label || ' is not in the ontology' as detail
    from labels
    where
        (domain is null or (slot_name is not null and slot is null))
        and exists (select 1 from {{ ref('dim_services') }} as services where services.corpus_id = 'taskmaster1')
),

-- The README writes the outcome of a whole transaction `pizza_ordering.accept`; other forms occur.
undocumented_label_form as (
    select
        dialogue_key,
        turn_index,
        slot_key as row_key,
        service,
        slot_name,
        source_label as detail
    from labels
    where
        domain is not null
        and slot_name is null
        and source_label not in (service || '.accept', service || '.reject')
),

-- A label that differs from the first one of its segment: the two workers do not agree.
conflicting_labels as (
    select
        others.dialogue_key,
        others.turn_index,
        others.slot_key as row_key,
        firsts.slot_key as other_key,
        others.service,
        others.slot_name,
        others.source_label || ' and ' || firsts.source_label || ' on the same segment' as detail
    from {{ ref('fct_slots') }} as others
    inner join {{ ref('fct_slots') }} as firsts
        on
            others.turn_key = firsts.turn_key
            and others.span_index = firsts.span_index
    where
        others.corpus_id = 'taskmaster1'
        and others.annotation_index > 0
        and firsts.annotation_index = 0
        and others.source_label <> firsts.source_label
),

-- More than two labels on a segment, although there are two workers; one row per segment, for its third label.
too_many_labels as (
    select
        dialogue_key,
        turn_index,
        slot_key as row_key,
        service,
        slot_name,
        'third label on the same segment: ' || source_label as detail
    from {{ ref('fct_slots') }}
    where corpus_id = 'taskmaster1' and annotation_index = 2
),

-- The id of the instructions does not begin with a domain of the ontology.
unknown_instruction as (
    select
        dialogues.dialogue_key,
        dialogues.dialogue_key as row_key,
        'instructions ' || dialogues.source_task || ' do not name a domain' as detail
    from {{ ref('dim_dialogues') }} as dialogues
    left join domains
        on dialogues.task = domains.domain
    where
        dialogues.corpus_id = 'taskmaster1'
        and domains.domain is null
        and exists (select 1 from {{ ref('dim_services') }} as services where services.corpus_id = 'taskmaster1')
),

-- A written dialog that none of the three split files lists.
dialogue_without_split as (
    select
        dialogue_key,
        dialogue_key as row_key,
        'no split file lists ' || dialogue_id as detail
    from {{ ref('dim_dialogues') }}
    where
        corpus_id = 'taskmaster1'
        and channel = 'written'
        and source_split is null
        and (
            select count(*)
            from {{ ref('dim_source_files') }} as files
            where files.corpus_id = 'taskmaster1' and files.entity = 'split_members'
        ) = 3
),

-- A line of a split file names a dialog that an earlier line names, of this file or of another one.
repeated_split_member as (
    select
        row_key,
        first_key as other_key,
        dialogue_id || ' is already listed in ' || first_file as detail
    from (
        select
            source_file_id || '/' || cast(record_index as string) as row_key,
            dialogue_id,
            row_number() over (partition by dialogue_id order by source_file_id, record_index) as occurrence,
            first_value(source_file_id) over (
                partition by dialogue_id order by source_file_id, record_index
            ) as first_file,
            first_value(source_file_id || '/' || cast(record_index as string)) over (
                partition by dialogue_id order by source_file_id, record_index
            ) as first_key
        from {{ ref('dim_split_members') }}
        where corpus_id = 'taskmaster1'
    ) as listed
    where occurrence > 1
)

{{ stack_rules(
    'taskmaster1',
    turns=[
        'deleted_turn',
        'repeated_turn',
        'long_run',
        'misplaced_segment',
        'foreign_label',
        'unknown_label',
        'undocumented_label_form',
        'conflicting_labels',
        'too_many_labels'
    ],
    dialogues=[
        'unannotated_dialogue',
        'no_required_label',
        'unknown_instruction',
        'dialogue_without_split'
    ],
    definitions=['repeated_split_member'],
    others=[
        'repeated_turn',
        'long_run',
        'conflicting_labels',
        'repeated_split_member'
    ],
    slots=[
        'misplaced_segment',
        'foreign_label',
        'unknown_label',
        'undocumented_label_form',
        'conflicting_labels',
        'too_many_labels'
    ]
) }}
