with

-- One row per dialogue and label, with the number of times that the label occurs in the dialogue.
dialogue_labels as (
    select
        corpus_id,
        split,
        role,
        action_type as label_kind,
        act as label,
        count(*) as times
    from {{ ref('fct_actions') }}
    where act is not null
    group by corpus_id, split, role, action_type, act, dialogue_key
    union all
    select
        corpus_id,
        split,
        role,
        'next_step' as label_kind,
        next_step as label,
        count(*) as times
    from {{ ref('fct_turns') }}
    where next_step is not null
    group by corpus_id, split, role, next_step, dialogue_key
    union all
    select
        corpus_id,
        split,
        cast(null as string) as role,
        'intent' as label_kind,
        intent as label,
        sum(times) as times
    from (
        select
            corpus_id,
            split,
            dialogue_key,
            intent,
            count(*) as times
        from {{ ref('fct_turns') }}
        where intent is not null
        group by corpus_id, split, dialogue_key, intent
        union all
        select
            corpus_id,
            split,
            dialogue_key,
            active_intent as intent,
            count(*) as times
        from {{ ref('fct_frames') }}
        where active_intent is not null
        group by corpus_id, split, dialogue_key, active_intent
    ) as intents
    group by corpus_id, split, intent, dialogue_key
    union all
    select
        corpus_id,
        split,
        cast(null as string) as role,
        'domain' as label_kind,
        domain as label,
        count(*) as times
    from {{ ref('dim_dialogue_services') }}
    where domain is not null
    group by corpus_id, split, domain, dialogue_key
    union all
    select
        corpus_id,
        split,
        cast(null as string) as role,
        'service' as label_kind,
        service as label,
        count(*) as times
    from {{ ref('dim_dialogue_services') }}
    where service is not null
    group by corpus_id, split, service, dialogue_key
),

labels as (
    select
        corpus_id,
        split,
        role,
        label_kind,
        label,
        count(*) as dialogues,
        sum(times) as times
    from dialogue_labels
    group by corpus_id, split, role, label_kind, label
),

splits as (
    select
        corpus_id,
        split,
        count(*) as dialogues
    from {{ ref('dim_dialogues') }}
    group by corpus_id, split
)

select
    labels.corpus_id,
    labels.split,
    labels.label_kind,
    labels.role,
    labels.label,

    cast(labels.times as integer) as label_count,
    labels.times / cast(sum(labels.times) over of_kind as double) as label_share,
    cast(labels.dialogues as integer) as labeled_dialogue_count,
    labels.dialogues / cast(splits.dialogues as double) as labeled_dialogue_share
from labels
inner join splits
    on
        labels.corpus_id = splits.corpus_id
        and labels.split is not distinct from splits.split
window of_kind as (partition by labels.corpus_id, labels.split, labels.label_kind, labels.role)
