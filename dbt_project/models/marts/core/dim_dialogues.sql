{#- The turns of a dialogue are counted in this model, because it can read the turns of all corpora. -#}
with

dialogues as (
    {{ union_corpora('dialogues', computed=['turn_count', 'utterance_count']) }}
),

turn_counts as (
    select
        dialogue_key,
        cast(count(*) as integer) as turn_count,
        cast(count(case when event_type = 'utterance' then 1 end) as integer) as utterance_count
    from {{ ref('fct_turns') }}
    group by dialogue_key
)

select
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    dialogues.source_split,
    dialogues.source_part,
    dialogues.dialogue_id,
    dialogues.id_occurrence,

    dialogues.source_file_id,
    dialogues.record_index,
    dialogues.record_pointer,

    dialogues.task,
    dialogues.source_task,
    dialogues.channel,
    dialogues.collection_method,

    coalesce(turn_counts.turn_count, 0) as turn_count,
    coalesce(turn_counts.utterance_count, 0) as utterance_count,
    dialogues.outcome_reward
from dialogues
left join turn_counts
    on dialogues.dialogue_key = turn_counts.dialogue_key
