{#- The release does not name its annotators: that both gave a label is read off its standing on the segment twice. -#}
with

annotated_corpora as (
    select corpus_id
    from {{ ref('dim_corpora') }}
    where annotator_count > 1
),

labels as (
    select
        turn_key,
        span_index,
        dialogue_key,
        service,
        slot_name,
        count(*) as annotations,
        min(coalesce(status, '')) <> max(coalesce(status, '')) as is_status_different
    from {{ ref('fct_slots') }}
    where annotation_type = 'span' and corpus_id in (select corpus_id from annotated_corpora)
    group by turn_key, span_index, dialogue_key, service, slot_name
),

segments as (
    select
        *,
        sum(annotations) over (partition by turn_key, span_index) as segment_annotations,
        min(annotations) over (partition by turn_key, span_index) > 1 as is_agreed
    from labels
),

counts as (
    select
        dialogues.corpus_id,
        dialogues.split,
        dialogues.channel,
        segments.service,
        segments.slot_name,
        count(*) as labeled_segments,
        count(*) filter (where segments.segment_annotations = 1) as annotated_once,
        count(*) filter (where segments.segment_annotations = 2) as annotated_twice,
        count(*) filter (where segments.segment_annotations > 2) as annotated_more,
        count(*) filter (where segments.is_agreed) as agreements,
        count(*) filter (where segments.is_agreed and segments.is_status_different) as status_differences,
        coalesce(
            sum(segments.annotations * (segments.segment_annotations - segments.annotations))
                filter (where not segments.is_agreed),
            0
        ) as disagreement_pairs
    from segments
    inner join {{ ref('dim_dialogues') }} as dialogues
        on segments.dialogue_key = dialogues.dialogue_key
    group by dialogues.corpus_id, dialogues.split, dialogues.channel, segments.service, segments.slot_name
)

select
    corpus_id,
    split,
    channel,
    service,
    slot_name,

    cast(labeled_segments as integer) as labeled_segments,
    cast(annotated_once as integer) as annotated_once,
    cast(annotated_twice as integer) as annotated_twice,
    cast(annotated_more as integer) as annotated_more,

    cast(agreements as integer) as agreements,
    cast(status_differences as integer) as status_differences,
    cast(disagreement_pairs as integer) as disagreement_pairs,
    cast(agreements as double) / nullif(annotated_twice + annotated_more, 0) as agreement_share
from counts
