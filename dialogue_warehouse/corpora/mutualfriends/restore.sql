-- Rebuilds the MutualFriends release from core. `batch` holds the source_file_id of the requested files.
-- Empty lists and items that leave no row in core are put back from source_exceptions afterwards.

-- entity: dialogues
with

dialogues as (
    select
        dialogues.dialogue_key,
        dialogues.source_file_id,
        dialogues.record_index,
        dialogues.dialogue_id,
        dialogues.outcome_reward,
        scenarios.scenario_id
    from dim_dialogues as dialogues
    semi join batch on dialogues.source_file_id = batch.source_file_id
    inner join dim_scenarios as scenarios on dialogues.dialogue_key = scenarios.scenario_key
),

scenarios as (
    select
        attributes.scenario_key,
        list(
            {'unique': attributes.is_unique, 'value_type': attributes.value_type, 'name': attributes.attribute}
            order by attributes.position
        ) filter (where attributes.attribute is not null) as attributes,
        list(attributes.alpha order by attributes.position) filter (where attributes.alpha is not null) as alphas
    from dim_scenario_attributes as attributes
    semi join dialogues on attributes.scenario_key = dialogues.dialogue_key
    group by attributes.scenario_key
),

items as (
    select
        items.dialogue_key,
        items.agent,
        items.item_index,
        map_from_entries(list({'k': items.attribute, 'v': items.value} order by items.attribute_index)) as item
    from fct_knowledge_items as items
    semi join dialogues on items.dialogue_key = dialogues.dialogue_key
    group by items.dialogue_key, items.agent, items.item_index
),

knowledge_bases as (
    select
        dialogue_key,
        agent,
        list(item order by item_index) as knowledge_base
    from items
    group by dialogue_key, agent
),

both_knowledge_bases as (
    select
        dialogue_key,
        list(knowledge_base order by cast(agent as integer)) as kbs
    from knowledge_bases
    group by dialogue_key
),

participants as (
    select
        people.dialogue_key,
        map_from_entries(
            list({'k': people.source_speaker, 'v': people.participant_type} order by people.source_speaker)
        ) as agents
    from dim_participants as people
    semi join dialogues on people.dialogue_key = dialogues.dialogue_key
    group by people.dialogue_key
),

selected_items as (
    select
        slots.turn_key,
        map_from_entries(list({'k': slots.slot_name, 'v': slots.value} order by slots.value_index)) as item
    from fct_slots as slots
    semi join dialogues on slots.dialogue_key = dialogues.dialogue_key
    group by slots.turn_key
),

selections as (
    select
        actions.turn_key,
        coalesce(to_json(selected_items.item), '{}') as item
    from fct_actions as actions
    semi join dialogues on actions.dialogue_key = dialogues.dialogue_key
    left join selected_items on actions.turn_key = selected_items.turn_key
),

events as (
    select
        turns.dialogue_key,
        list(
            to_json({
                'action': turns.source_event_type,
                'start_time': null,
                'data': coalesce(to_json(turns.utterance), selections.item),
                'agent': cast(turns.source_speaker as integer),
                'time': turns.source_time
            })
            order by turns.turn_index
        ) as events
    from fct_turns as turns
    semi join dialogues on turns.dialogue_key = dialogues.dialogue_key
    left join selections on turns.turn_key = selections.turn_key
    group by turns.dialogue_key
)

select
    dialogues.source_file_id,
    dialogues.record_index,
    null as record_key,
    to_json({
        'uuid': dialogues.dialogue_id,
        'scenario_uuid': dialogues.scenario_id,
        'scenario': {
            'uuid': dialogues.scenario_id,
            'alphas': coalesce(scenarios.alphas, []),
            'attributes': coalesce(scenarios.attributes, []),
            'kbs': coalesce(both_knowledge_bases.kbs, [])
        },
        'agents': coalesce(participants.agents, map {}),
        'outcome': {'reward': dialogues.outcome_reward},
        'events': coalesce(events.events, [])
    }) as record
from dialogues
left join scenarios on dialogues.dialogue_key = scenarios.scenario_key
left join both_knowledge_bases on dialogues.dialogue_key = both_knowledge_bases.dialogue_key
left join participants on dialogues.dialogue_key = participants.dialogue_key
left join events on dialogues.dialogue_key = events.dialogue_key
