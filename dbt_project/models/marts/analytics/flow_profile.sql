with

-- A task that is listed again, even in another flow, is one task; it belongs to the alphabetically first flow.
tasks as (
    select
        intents.corpus_id,
        splits.split,
        min(intents.parent_intent) as parent_intent,
        intents.intent
    from {{ ref('dim_intents') }} as intents
    inner join (select distinct corpus_id, split from {{ ref('dim_dialogues') }}) as splits
        on
            intents.corpus_id = splits.corpus_id
            and (intents.split is null or intents.split = splits.split)
    where intents.corpus_id in (select corpus_id from {{ ref('dim_corpora') }} where goal_kind = 'follow_guideline')
    group by intents.corpus_id, splits.split, intents.intent
),

retrievals as (
    select
        dialogue_key,
        count(*) as retrievals,
        sum(target_position) filter (where target_position >= 0) as positions,
        count(*) filter (where target_position >= 0) as targets
    from {{ ref('fct_candidates') }}
    group by dialogue_key
),

dialogues as (
    select
        conformance.corpus_id,
        conformance.split,
        conformance.task,
        count(*) as dialogues,
        sum(dialogues.turn_count) as turns,
        sum(conformance.action_count) as actions,
        {%- for verdict in ['exact', 'interrupted', 'shortened', 'broken'] %}
        count(*) filter (where conformance.conformance = '{{ verdict }}') as {{ verdict }},
        {%- endfor %}
        sum(retrievals.retrievals) as retrievals,
        sum(retrievals.positions) / cast(sum(retrievals.targets) as double) as target_position
    from {{ ref('guideline_conformance') }} as conformance
    inner join {{ ref('dim_dialogues') }} as dialogues
        on conformance.dialogue_key = dialogues.dialogue_key
    left join retrievals
        on conformance.dialogue_key = retrievals.dialogue_key
    group by conformance.corpus_id, conformance.split, conformance.task
)

select
    tasks.corpus_id,
    tasks.split,
    tasks.parent_intent as flow,
    tasks.intent as task,

    cast(coalesce(dialogues.dialogues, 0) as integer) as dialogue_count,
    dialogues.turns / cast(dialogues.dialogues as double) as turns_per_dialogue,
    dialogues.actions / cast(dialogues.dialogues as double) as actions_per_dialogue,
    {%- for verdict in ['exact', 'interrupted', 'shortened', 'broken'] %}
    cast(coalesce(dialogues.{{ verdict }}, 0) as integer) as {{ verdict }}_count,
    {%- endfor %}
    dialogues.exact / cast(dialogues.dialogues as double) as exact_share,
    cast(coalesce(dialogues.retrievals, 0) as integer) as retrieval_count,
    dialogues.target_position as mean_target_position
from tasks
left join dialogues
    on
        tasks.corpus_id = dialogues.corpus_id
        and tasks.intent = dialogues.task
        and tasks.split is not distinct from dialogues.split
