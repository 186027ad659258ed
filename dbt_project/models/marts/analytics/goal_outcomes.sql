{#- The publisher's result of a dialogue comes first. Without one, the kind of the goal says what must be reached. -#}
with

rewards as (
    select
        dialogue_key,
        min(reward) as lowest_reward,
        max(reward) as highest_reward
    from {{ ref('dim_participants') }}
    group by dialogue_key
),

ballots as (
    select
        dialogue_key,
        max(case when is_selected and agent_id is not null then 1 else 0 end) = 1
        and max(case when is_selected and agent_id is null then 1 else 0 end) = 0 as is_answered
    from {{ ref('fct_votes') }}
    group by dialogue_key
),

outcomes as (
    select
        dialogues.corpus_id,
        dialogues.split,
        corpora.goal_kind,
        coalesce(
            dialogues.outcome_reward > 0,
            case corpora.goal_kind
                when 'answer' then ballots.is_answered
                when 'follow_guideline' then conformance.conformance in ('exact', 'interrupted')
                else rewards.highest_reward > 0
            end
        ) as is_reached,
        coalesce(rewards.lowest_reward, cast(dialogues.outcome_reward as double)) as lowest_reward,
        coalesce(rewards.highest_reward, cast(dialogues.outcome_reward as double)) as highest_reward
    from {{ ref('dim_dialogues') }} as dialogues
    inner join {{ ref('dim_corpora') }} as corpora
        on dialogues.corpus_id = corpora.corpus_id
    left join rewards
        on dialogues.dialogue_key = rewards.dialogue_key
    left join ballots
        on dialogues.dialogue_key = ballots.dialogue_key
    left join {{ ref('guideline_conformance') }} as conformance
        on dialogues.dialogue_key = conformance.dialogue_key
)

select
    corpus_id,
    split,
    goal_kind,
    is_reached,

    cast(count(*) as integer) as dialogue_count,
    min(lowest_reward) as lowest_reward,
    max(highest_reward) as highest_reward
from outcomes
group by corpus_id, split, goal_kind, is_reached
