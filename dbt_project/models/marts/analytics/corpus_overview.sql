with

dialogues as (
    select
        corpus_id,
        count(*) as dialogue_count,
        sum(turn_count) as turn_count,
        sum(utterance_count) as utterance_count
    from {{ ref('dim_dialogues') }}
    group by corpus_id
),

actions as (
    select
        corpus_id,
        count(*) as action_count
    from {{ ref('fct_actions') }}
    group by corpus_id
),

slots as (
    select
        corpus_id,
        count(*) as slot_count
    from {{ ref('fct_slots') }}
    group by corpus_id
),

violations as (
    select
        corpus_id,
        count(case kind when 'defect' then 1 end) as violation_count,
        count(case kind when 'property' then 1 end) as property_count
    from {{ ref('violations') }}
    group by corpus_id
),

files as (
    select
        corpus_id,
        count(*) as file_count,
        sum(bytes) as source_bytes
    from {{ ref('dim_source_files') }}
    group by corpus_id
)

select
    corpora.corpus_id,
    corpora.title,
    corpora.license,

    cast(coalesce(files.file_count, 0) as integer) as file_count,
    cast(coalesce(files.source_bytes, 0) as bigint) as source_bytes,
    cast(coalesce(dialogues.dialogue_count, 0) as integer) as dialogue_count,
    cast(coalesce(dialogues.turn_count, 0) as integer) as turn_count,
    cast(coalesce(dialogues.utterance_count, 0) as integer) as utterance_count,
    cast(coalesce(actions.action_count, 0) as integer) as action_count,
    cast(coalesce(slots.slot_count, 0) as integer) as slot_count,
    cast(coalesce(violations.violation_count, 0) as integer) as violation_count,
    cast(coalesce(violations.property_count, 0) as integer) as property_count
from {{ ref('dim_corpora') }} as corpora
left join files
    on corpora.corpus_id = files.corpus_id
left join dialogues
    on corpora.corpus_id = dialogues.corpus_id
left join actions
    on corpora.corpus_id = actions.corpus_id
left join slots
    on corpora.corpus_id = slots.corpus_id
left join violations
    on corpora.corpus_id = violations.corpus_id
