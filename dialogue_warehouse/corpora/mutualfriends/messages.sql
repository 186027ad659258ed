-- How a dialogue of MutualFriends becomes chat messages. `batch` holds the dialogue_key of the requested dialogues.
-- Each person is once the assistant, with this person's list in the system prompt: two variants of a dialogue. Neither
-- person sees what the other one selects, so that selection is left out.

-- part: messages
with

turns as (
    select
        turns.dialogue_key,
        turns.turn_index,
        turns.turn_key,
        turns.source_speaker,
        turns.event_type,
        turns.utterance
    from fct_turns as turns
    semi join batch on turns.dialogue_key = batch.dialogue_key
),

people as (
    select
        people.dialogue_key,
        people.source_speaker as variant
    from dim_participants as people
    semi join batch on people.dialogue_key = batch.dialogue_key
),

items as (
    select
        items.dialogue_key,
        items.agent,
        items.item_index,
        string_agg(items.attribute || ': ' || items.value, ', ' order by items.attribute_index) as text
    from fct_knowledge_items as items
    semi join batch on items.dialogue_key = batch.dialogue_key
    group by items.dialogue_key, items.agent, items.item_index
),

lists as (
    select
        items.dialogue_key,
        items.agent,
        string_agg((items.item_index + 1) || '. ' || items.text, chr(10) order by items.item_index) as text
    from items
    group by items.dialogue_key, items.agent
),

selections as (
    select
        slots.turn_key,
        to_json(map(
            list(slots.slot_name order by slots.value_index), list(slots.value order by slots.value_index)
        )) as arguments
    from fct_slots as slots
    semi join batch on slots.dialogue_key = batch.dialogue_key
    where slots.annotation_type = 'selection' and slots.slot_name is not null
    group by slots.turn_key
)

select
    people.dialogue_key,
    people.variant,
    cast(null as integer) as turn_index,
    cast(null as integer) as place,
    cast(null as varchar) as turn_key,
    'system' as role,
    concat(
        'You and another person have a list of friends each. One friend is in both lists. Find this friend by talking',
        ' with the other person, who does not see your list, and select it.',
        chr(10), 'Your list:', chr(10), lists.text
    ) as content,
    cast(null as varchar) as call_name,
    cast(null as json) as arguments
from people
inner join lists on people.dialogue_key = lists.dialogue_key and people.variant = lists.agent

union all

select
    people.dialogue_key,
    people.variant,
    turns.turn_index,
    cast(null as integer) as place,
    turns.turn_key,
    if(turns.source_speaker = people.variant, 'assistant', 'user') as role,
    turns.utterance as content,
    cast(null as varchar) as call_name,
    cast(null as json) as arguments
from people
inner join turns on people.dialogue_key = turns.dialogue_key
where turns.event_type = 'utterance'

union all

select
    people.dialogue_key,
    people.variant,
    turns.turn_index,
    cast(null as integer) as place,
    turns.turn_key,
    'call' as role,
    '' as content,
    'select' as call_name,
    coalesce(selections.arguments, '{}') as arguments
from people
inner join turns on people.dialogue_key = turns.dialogue_key and people.variant = turns.source_speaker
left join selections on turns.turn_key = selections.turn_key
where turns.event_type = 'selection'

-- part: tools
with

attributes as (
    select
        attributes.scenario_key as dialogue_key,
        attributes.attribute,
        min(attributes.position) as position
    from dim_scenario_attributes as attributes
    semi join batch on attributes.scenario_key = batch.dialogue_key
    where attributes.attribute is not null
    group by attributes.scenario_key, attributes.attribute
)

select
    attributes.dialogue_key,
    0 as position,
    'select' as name,
    'Select the friend that is in both lists.' as description,
    json_object(
        'type', 'object',
        'properties', to_json(map(
            list(attributes.attribute order by attributes.position),
            list(json_object('type', 'string') order by attributes.position)
        )),
        'required', list(attributes.attribute order by attributes.position)
    ) as parameters
from attributes
group by attributes.dialogue_key
