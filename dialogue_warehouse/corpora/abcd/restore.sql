-- Rebuilds the ABCD release from core. `batch` holds the source_file_id of the requested files.
-- Empty lists that leave no row in core are put back from source_exceptions afterwards.

-- entity: conversations
with

conversations as (
    select
        dialogues.dialogue_key,
        dialogues.source_file_id,
        dialogues.record_index,
        dialogues.source_part,
        dialogues.dialogue_id,
        scenarios.flow,
        scenarios.subflow
    from dim_dialogues as dialogues
    semi join batch on dialogues.source_file_id = batch.source_file_id
    inner join dim_scenarios as scenarios on dialogues.dialogue_key = scenarios.scenario_key
),

scenarios as (
    select
        fields.scenario_key,
        map_from_entries(
            list({'k': fields.field, 'v': fields.value} order by fields.field)
            filter (where fields.section = 'personal')
        ) as personal,
        map_from_entries(
            list({'k': fields.field, 'v': fields.value} order by fields.field) filter (where fields.section = 'order')
        ) as order_fields,
        list(fields.value order by fields.value_index)
        filter (where fields.section = 'product' and fields.field = 'names') as product_names,
        list(case when fields.field = 'amounts' then cast(fields.value as integer) end order by fields.value_index)
        filter (where fields.section = 'product' and fields.field = 'amounts') as product_amounts
    from dim_scenario_values as fields
    semi join conversations on fields.scenario_key = conversations.dialogue_key
    group by fields.scenario_key
),

turns as (
    select
        turns.dialogue_key,
        list([turns.source_speaker, turns.utterance] order by turns.turn_index) as original,
        list(
            {
                'speaker': turns.source_speaker,
                'text': turns.delexicalized_utterance,
                'turn_count': turns.source_turn_number,
                'targets': json_array(
                    turns.intent,
                    turns.next_step,
                    actions.act,
                    coalesce(actions.action_values, []),
                    coalesce(candidates.target_position, -1)
                ),
                'candidates': coalesce(candidates.candidate_ids, [])
            }
            order by turns.turn_index
        ) as delexed
    from fct_turns as turns
    semi join conversations on turns.dialogue_key = conversations.dialogue_key
    left join fct_actions as actions on turns.turn_key = actions.turn_key and actions.action_type = 'button'
    left join fct_candidates as candidates on turns.turn_key = candidates.turn_key
    group by turns.dialogue_key
)

select
    conversations.source_file_id,
    conversations.record_index,
    conversations.source_part as record_key,
    to_json({
        'convo_id': cast(conversations.dialogue_id as integer),
        'scenario': {
            'personal': coalesce(scenarios.personal, map {}),
            'order': coalesce(scenarios.order_fields, map {}),
            'product': {
                'names': coalesce(scenarios.product_names, []),
                'amounts': coalesce(scenarios.product_amounts, [])
            },
            'flow': conversations.flow,
            'subflow': conversations.subflow
        },
        'original': coalesce(turns.original, []),
        'delexed': coalesce(turns.delexed, [])
    }) as record
from conversations
left join scenarios on conversations.dialogue_key = scenarios.scenario_key
left join turns on conversations.dialogue_key = turns.dialogue_key

-- entity: utterances
select
    batch.source_file_id,
    utterances.candidate_id as record_index,
    null as record_key,
    to_json(utterances.utterance) as record
from dim_candidate_utterances as utterances
cross join batch
where utterances.corpus_id = 'abcd'

-- entity: ontology
with

subflows as (
    select
        parent_intent as flow,
        min(parent_position) as position,
        list(intent order by position) as subflows
    from dim_intents
    where corpus_id = 'abcd'
    group by parent_intent
),

acts as (
    select
        acts.act_group,
        acts.act,
        min(acts.position) as position,
        coalesce(
            list(act_slots.slot order by act_slots.position) filter (where act_slots.slot is not null), []
        ) as slots
    from dim_acts as acts
    left join dim_act_slots as act_slots
        on
            acts.corpus_id = act_slots.corpus_id
            and acts.act = act_slots.act
            and acts.act_occurrence = act_slots.act_occurrence
    where acts.corpus_id = 'abcd' and acts.act_group is not null
    group by acts.act_group, acts.act
),

act_groups as (
    select
        act_group,
        map_from_entries(list({'k': act, 'v': slots} order by position)) as acts
    from acts
    group by act_group
),

slot_groups as (
    select
        slot_group,
        list(slot order by position) as slots
    from dim_slots
    where corpus_id = 'abcd' and not is_categorical
    group by slot_group
),

vocabulary as (
    select
        coalesce(list(term order by position) filter (where kind = 'token'), []) as tokens,
        coalesce(list(term order by position) filter (where kind = 'special_token'), []) as special,
        coalesce(list(term order by position) filter (where kind = 'next_step'), []) as next_steps
    from dim_vocabulary
    where corpus_id = 'abcd'
)

select
    batch.source_file_id,
    0 as record_index,
    null as record_key,
    to_json({
        'intents': {
            'flows': coalesce((select list(flow order by position) from dim_flows where corpus_id = 'abcd'), []),
            'subflows': coalesce(
                (select map_from_entries(list({'k': flow, 'v': subflows} order by position, flow)) from subflows),
                map {}
            )
        },
        'vocabulary': {'tokens': vocabulary.tokens, 'special': vocabulary.special},
        'actions': {
            'kb_query': coalesce((select acts from act_groups where act_group = 'kb_query'), map {}),
            'interaction': coalesce((select acts from act_groups where act_group = 'interaction'), map {}),
            'faq_policy': coalesce((select acts from act_groups where act_group = 'faq_policy'), map {})
        },
        'values': {
            'enumerable': coalesce(
                (
                    select map_from_entries(list({'k': slot, 'v': possible_values} order by position))
                    from dim_slots
                    where corpus_id = 'abcd' and is_categorical
                ),
                map {}
            ),
            'non_enumerable': coalesce(
                (select map_from_entries(list({'k': slot_group, 'v': slots} order by slot_group)) from slot_groups),
                map {}
            )
        },
        'next_steps': vocabulary.next_steps
    }) as record
from vocabulary
cross join batch

-- entity: kb
select
    batch.source_file_id,
    intent_acts.record_index,
    intent_acts.intent as record_key,
    to_json(list(intent_acts.act order by intent_acts.position)) as record
from dim_intent_acts as intent_acts
cross join batch
where intent_acts.corpus_id = 'abcd'
group by batch.source_file_id, intent_acts.intent, intent_acts.record_index

-- entity: guidelines
with

steps as (
    select
        guideline_key,
        list({'type': step_type, 'button': button, 'text': text, 'subtext': subtext} order by step_index) as actions
    from dim_guideline_steps
    where corpus_id = 'abcd'
    group by guideline_key
),

flows as (
    select
        guidelines.flow_title,
        any_value(guidelines.flow_position) as flow_position,
        any_value(guidelines.flow_description) as description,
        map_from_entries(
            list({
                'k': guidelines.subflow_title,
                'v': {'actions': coalesce(steps.actions, []), 'instructions': guidelines.instructions}
            } order by guidelines.position) filter (where guidelines.subflow_title is not null)
        ) as subflows
    from dim_guidelines as guidelines
    left join steps on guidelines.guideline_key = steps.guideline_key
    where guidelines.corpus_id = 'abcd'
    group by guidelines.flow_title
)

select
    batch.source_file_id,
    flows.flow_position as record_index,
    flows.flow_title as record_key,
    to_json({'description': flows.description, 'subflows': coalesce(flows.subflows, map {})}) as record
from flows
cross join batch
