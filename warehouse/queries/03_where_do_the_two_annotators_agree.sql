-- Which labels do the two annotators of Taskmaster-1 put on the same words, and where do they differ?
-- One row per channel, service and slot_name.
--
-- Columns
--   channel: written (a crowd worker played both sides) or spoken (two people)
--   service: ontology id that the label begins with; it need not be the dialogue's own task
--   slot_name: label without service and status; NULL if the label is about the whole transaction
--   spans: distinct labeled ranges of an utterance (same turn, first and last character, service and slot_name)
--   labeled_twice: of spans, those that carry the label at least twice: both annotators gave it
--   labeled_once: the others: spans = labeled_twice + labeled_once
--   once_moved: of labeled_once, those that overlap a span with the same label, which begins or ends elsewhere
--   once_renamed: of labeled_once and not once_moved, those that overlap a span with another label
--   once_alone: of labeled_once, the rest: nothing else is labeled there
--   agreement_percent: 2 x labeled_twice / (2 x labeled_twice + labeled_once), one decimal (the F1 of one annotator
--     against the other, if each dialogue had two annotators)
--   status_differs: of labeled_twice, those where only one label ends in `.accept` or `.reject`, or the endings differ
--
-- Reads: core.fct_slots, core.dim_dialogues
-- Expect: the release does not name its annotators: a label that occurs twice counts as given by both. Much of the
--   spoken half seems to have been annotated once, so read its agreement_percent as a lower bound. span_f1 in
--   analytics.annotator_agreement leaves out the dialogues in which no label occurs twice, and is higher.
-- Source: "annotated by two workers" is a quote from the README; numbers for single labels are not published.
with

-- The spans are numbered only for this query, and only once.
spans as materialized (
    select
        row_number() over () as span,
        turn_key,
        any_value(dialogue_key) as dialogue_key,
        start_char,
        end_char,
        service,
        slot_name,
        count(*) as labels,
        min(coalesce(status, '')) <> max(coalesce(status, '')) as is_status_different
    from core.fct_slots
    where corpus_id = 'taskmaster1' and source_label is not null
    group by turn_key, start_char, end_char, service, slot_name
),

neighbours as (
    select
        spans.span,
        bool_or(
            spans.service = others.service
            and spans.slot_name is not distinct from others.slot_name
        ) as is_moved
    from spans
    inner join spans as others
        on
            spans.turn_key = others.turn_key
            and spans.start_char < others.end_char
            and others.start_char < spans.end_char
            and spans.span <> others.span
    where spans.labels = 1
    group by spans.span
),

judged as (
    select
        dialogues.channel,
        spans.service,
        spans.slot_name,
        spans.labels > 1 as is_twice,
        spans.is_status_different,
        neighbours.is_moved
    from spans
    inner join core.dim_dialogues as dialogues
        on spans.dialogue_key = dialogues.dialogue_key
    left join neighbours
        on spans.span = neighbours.span
)

select
    channel,
    service,
    slot_name,

    count(*) as spans,
    count(*) filter (where is_twice) as labeled_twice,
    count(*) filter (where not is_twice) as labeled_once,
    count(*) filter (where not is_twice and is_moved) as once_moved,
    count(*) filter (where not is_twice and not is_moved) as once_renamed,
    count(*) filter (where not is_twice and is_moved is null) as once_alone,
    round(200.0 * count(*) filter (where is_twice) / (count(*) + count(*) filter (where is_twice)), 1)
        as agreement_percent,
    count(*) filter (where is_twice and is_status_different) as status_differs
from judged
group by channel, service, slot_name
order by channel, service, slot_name
