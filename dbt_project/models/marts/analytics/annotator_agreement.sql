{#- The release does not name its annotators: the number of times a label occurs on the same characters shows
    whether one or both annotators gave it. A dialogue without any label that both gave has one annotator, as far as
    one can see, and nothing to compare. -#}
with

annotated_corpora as (
    select corpus_id
    from {{ ref('dim_corpora') }}
    where annotator_count > 1
),

texts as (
    select
        turns.turn_key,
        turns.dialogue_key,
        dialogues.corpus_id,
        dialogues.split,
        dialogues.channel,
        length(turns.utterance) as characters
    from {{ ref('fct_turns') }} as turns
    inner join {{ ref('dim_dialogues') }} as dialogues
        on turns.dialogue_key = dialogues.dialogue_key
    where turns.corpus_id in (select corpus_id from annotated_corpora)
),

-- A span without a label is not an annotation.
spans as (
    select
        turn_key,
        dialogue_key,
        service,
        slot_name,
        start_char,
        end_char,
        count(*) as annotations,
        min(coalesce(status, '')) <> max(coalesce(status, '')) as is_status_different
    from {{ ref('fct_slots') }}
    where
        annotation_type = 'span'
        and coalesce(service, slot_name) is not null
        and corpus_id in (select corpus_id from annotated_corpora)
    group by turn_key, dialogue_key, service, slot_name, start_char, end_char
),

compared_dialogues as (
    select distinct dialogue_key
    from spans
    where annotations > 1
),

text_lengths as (
    select
        texts.corpus_id,
        texts.split,
        texts.channel,
        count(distinct texts.dialogue_key) as dialogues,
        sum(texts.characters) as characters
    from texts
    inner join compared_dialogues
        on texts.dialogue_key = compared_dialogues.dialogue_key
    group by texts.corpus_id, texts.split, texts.channel
),

placed_spans as (
    select
        texts.corpus_id,
        texts.split,
        texts.channel,
        spans.*,
        compared_dialogues.dialogue_key is not null as is_compared,
        sum(spans.annotations) over (partition by spans.turn_key, spans.start_char, spans.end_char) as all_annotations,
        least(greatest(spans.start_char, 0), texts.characters) as first_char,
        least(greatest(spans.end_char, 0), texts.characters) as past_char
    from spans
    inner join texts
        on spans.turn_key = texts.turn_key
    left join compared_dialogues
        on spans.dialogue_key = compared_dialogues.dialogue_key
),

span_counts as (
    select
        corpus_id,
        split,
        channel,
        service,
        slot_name,
        count(*) as spans,
        count(*) filter (where annotations > 1) as spans_by_both,
        count(*) filter (where annotations = 1 and is_compared) as spans_by_one,
        count(*) filter (where annotations = 1 and all_annotations > 1 and is_compared) as spans_renamed,
        count(*) filter (where annotations > 1 and is_status_different) as status_differences
    from placed_spans
    group by corpus_id, split, channel, service, slot_name
),

-- The positions where annotations of a label begin and end, and the number of annotations open after each position.
edges as (
    {% for position, sign in [('first_char', ''), ('past_char', '-')] -%}
    select
        corpus_id,
        split,
        channel,
        turn_key,
        service,
        slot_name,
        {{ position }} as position,
        {{ sign }}annotations as opened
    from placed_spans
    where first_char < past_char and is_compared
    {% if not loop.last %}
    union all

    {% endif %}
    {%- endfor %}
),

pieces as (
    select
        corpus_id,
        split,
        channel,
        service,
        slot_name,
        (lead(position) over in_label) - position as characters,
        sum(sum(opened)) over in_label as annotations
    from edges
    group by corpus_id, split, channel, turn_key, service, slot_name, position
    window in_label as (partition by turn_key, service, slot_name order by position)
),

character_counts as (
    select
        corpus_id,
        split,
        channel,
        service,
        slot_name,
        coalesce(sum(characters) filter (where annotations = 1), 0) as characters_by_one,
        coalesce(sum(characters) filter (where annotations > 1), 0) as characters_by_both
    from pieces
    group by corpus_id, split, channel, service, slot_name
),

counts as (
    select
        span_counts.*,
        coalesce(text_lengths.dialogues, 0) as compared_dialogues,
        cast(coalesce(text_lengths.characters, 0) as bigint) as characters,
        cast(coalesce(character_counts.characters_by_one, 0) as bigint) as characters_by_one,
        cast(coalesce(character_counts.characters_by_both, 0) as bigint) as characters_by_both
    from span_counts
    left join text_lengths
        on
            span_counts.corpus_id = text_lengths.corpus_id
            and span_counts.split is not distinct from text_lengths.split
            and span_counts.channel is not distinct from text_lengths.channel
    left join character_counts
        on
            span_counts.corpus_id = character_counts.corpus_id
            and span_counts.split is not distinct from character_counts.split
            and span_counts.channel is not distinct from character_counts.channel
            and span_counts.service is not distinct from character_counts.service
            and span_counts.slot_name is not distinct from character_counts.slot_name
),

-- Each character has two values: marked with the label or not, by one annotator and by the other.
judged_values as (
    select
        *,
        cast(2 * characters as double) as all_values,
        cast(2 * characters_by_both + characters_by_one as double) as marked_values
    from counts
)

select
    corpus_id,
    split,
    channel,
    service,
    slot_name,

    cast(compared_dialogues as integer) as compared_dialogue_count,
    cast(spans as integer) as spans,
    cast(spans_by_both as integer) as spans_by_both,
    cast(spans_by_one as integer) as spans_by_one,
    cast(spans_renamed as integer) as spans_renamed,
    cast(status_differences as integer) as status_differences,

    characters,
    characters_by_both,
    characters_by_one,

    2 * spans_by_both / cast(nullif(2 * spans_by_both + spans_by_one, 0) as double) as span_f1,
    spans_by_both / cast(nullif(spans_by_both + spans_by_one, 0) as double) as least_span_precision,
    2 * spans_by_both / cast(nullif(2 * spans_by_both + spans_renamed, 0) as double) as label_f1,
    1 - status_differences / cast(nullif(spans_by_both, 0) as double) as status_agreement,
    2 * characters_by_both / nullif(marked_values, 0) as character_f1,
    1 - (all_values - 1) * characters_by_one / nullif(marked_values * (all_values - marked_values), 0)
        as krippendorff_alpha
from judged_values
