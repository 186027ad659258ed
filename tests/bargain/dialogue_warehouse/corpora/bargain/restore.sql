-- Rebuilds the Bargain release from core. `batch` holds the source_file_id of the requested files.

-- entity: deals
with

deals as (
    select
        dialogues.dialogue_key,
        dialogues.source_file_id,
        dialogues.record_index,
        dialogues.dialogue_id,
        dialogues.outcome_reward
    from dim_dialogues as dialogues
    semi join batch on dialogues.source_file_id = batch.source_file_id
),

items as (
    select
        cells.dialogue_key,
        cells.agent,
        cells.item_index,
        {
            'name': max(cells.value) filter (where cells.attribute = 'name'),
            'count': max(cells.integer_value) filter (where cells.attribute = 'count'),
            'points': max(cells.integer_value) filter (where cells.attribute = 'points')
        } as item
    from fct_knowledge_items as cells
    semi join deals on cells.dialogue_key = deals.dialogue_key
    group by cells.dialogue_key, cells.agent, cells.item_index
),

item_lists as (
    select
        dialogue_key,
        agent,
        list(item order by item_index) as items
    from items
    group by dialogue_key, agent
),

people as (
    select
        people.dialogue_key,
        list(
            {
                'kind': people.participant_type,
                'items': coalesce(item_lists.items, []),
                'reward': people.reward
            }
            order by cast(people.source_speaker as integer)
        ) as people
    from dim_participants as people
    semi join deals on people.dialogue_key = deals.dialogue_key
    left join item_lists
        on
            people.dialogue_key = item_lists.dialogue_key
            and people.source_speaker = item_lists.agent
    group by people.dialogue_key
),

taken as (
    select
        slots.turn_key,
        map_from_entries(list({'k': slots.slot_name, 'v': slots.integer_value} order by slots.value_index)) as takes
    from fct_slots as slots
    semi join deals on slots.dialogue_key = deals.dialogue_key
    group by slots.turn_key
),

takes as (
    select
        actions.turn_key,
        coalesce(to_json(taken.takes), '{}') as takes
    from fct_actions as actions
    semi join deals on actions.dialogue_key = deals.dialogue_key
    left join taken on actions.turn_key = taken.turn_key
),

events as (
    select
        turns.dialogue_key,
        list(
            to_json({
                'person': cast(turns.source_speaker as integer),
                'kind': turns.source_event_type,
                'text': turns.utterance,
                'takes': takes.takes
            })
            order by turns.turn_index
        ) as events
    from fct_turns as turns
    semi join deals on turns.dialogue_key = deals.dialogue_key
    left join takes on turns.turn_key = takes.turn_key
    group by turns.dialogue_key
)

select
    deals.source_file_id,
    deals.record_index,
    null as record_key,
    to_json({
        'id': deals.dialogue_id,
        'people': coalesce(people.people, []),
        'events': coalesce(events.events, []),
        'agreed': case deals.outcome_reward when 1 then true when 0 then false end
    }) as record
from deals
left join people on deals.dialogue_key = people.dialogue_key
left join events on deals.dialogue_key = events.dialogue_key
