-- How a dialogue of SGD becomes chat messages. `batch` holds the dialogue_key of the requested dialogues.
-- The system calls a service before it speaks, because the utterance has values of the results.
-- A method with a `_` gets a `/` before it, and so a hash in its name: `A_B` with `C` and `A` with `B_C` are two tools.

-- part: messages
with

turns as (
    select
        turns.dialogue_key,
        turns.turn_index,
        turns.turn_key,
        turns.role,
        turns.utterance
    from fct_turns as turns
    semi join batch on turns.dialogue_key = batch.dialogue_key
),

parameters as (
    select
        slots.turn_key,
        slots.frame_index,
        to_json(map_from_entries(list_sort(list({'key': slots.slot_name, 'value': slots.value})))) as arguments
    from fct_slots as slots
    semi join batch on slots.dialogue_key = batch.dialogue_key
    where slots.annotation_type = 'call_parameter' and slots.slot_name is not null
    group by slots.turn_key, slots.frame_index
),

-- Both lists have the same order. Sorting places is much faster than an ordered aggregate for each of many calls.
results as (
    select
        results.call_key,
        list(to_json(results.entity)) as entities,
        list_grade_up(list(results.result_index)) as places
    from fct_service_results as results
    semi join batch on results.dialogue_key = batch.dialogue_key
    group by results.call_key
)

select
    calls.dialogue_key,
    cast(null as varchar) as variant,
    calls.turn_index,
    calls.frame_index as place,
    calls.turn_key,
    'call' as role,
    concat('[', array_to_string(list_select(results.entities, results.places), ','), ']') as content,
    calls.service || if(contains(calls.method, '_'), '/', '_') || calls.method as call_name,
    coalesce(parameters.arguments, '{}') as arguments
from fct_service_calls as calls
semi join batch on calls.dialogue_key = batch.dialogue_key
left join parameters
    on calls.turn_key = parameters.turn_key and calls.frame_index = parameters.frame_index
left join results on calls.call_key = results.call_key

union all

select
    turns.dialogue_key,
    cast(null as varchar) as variant,
    turns.turn_index,
    cast(null as integer) as place,
    turns.turn_key,
    if(turns.role = 'user', 'user', 'assistant') as role,
    turns.utterance as content,
    cast(null as varchar) as call_name,
    cast(null as json) as arguments
from turns
where turns.role in ('user', 'system')

-- part: tool_sets
select
    services.dialogue_key,
    cast(json_array(services.split, list(services.service order by services.position)) as varchar) as tool_set
from dim_dialogue_services as services
semi join batch on services.dialogue_key = batch.dialogue_key
group by services.dialogue_key, services.split

-- Of definitions that a schema has twice, the first one counts; the key of another one has a `~`.
-- part: tools
with

slots as (
    select
        intents.split,
        intents.service,
        intents.intent,
        uses.slot,
        bool_or(uses.requirement = 'required') as is_required,
        min(uses.position) as position,
        min(uses.default_value) as default_value,
        any_value(definitions.description) as description,
        any_value(definitions.possible_values) filter (where definitions.is_categorical) as possible_values
    from dim_intents as intents
    inner join dim_intent_slots as uses on intents.intent_key = uses.intent_key
    left join dim_slots as definitions
        on
            intents.corpus_id = definitions.corpus_id
            and intents.split = definitions.split
            and intents.service = definitions.service
            and uses.slot = definitions.slot
            and definitions.slot_definition_key not like '%~%'
    where
        intents.corpus_id = 'sgd'
        and intents.intent_key not like '%~%'
        and uses.requirement in ('required', 'optional')
    group by intents.split, intents.service, intents.intent, uses.slot
),

-- A default such as `dontcare` is a value, too, although the slot does not list it.
listed as (
    select
        slots.*,
        list_append(slots.possible_values, slots.default_value) as with_default
    from slots
),

-- Each value once, where it is first.
properties as (
    select
        listed.*,
        if(
            len(listed.possible_values) > 0,
            list_transform(
                list_filter(
                    range(1, len(listed.with_default) + 1),
                    lambda place : list_position(listed.with_default, listed.with_default[place]) = place
                    and listed.with_default[place] is not null
                ),
                lambda place : listed.with_default[place]
            ),
            null
        ) as allowed
    from listed
),

parameters as (
    select
        properties.split,
        properties.service,
        properties.intent,
        map(
            list(properties.slot order by not properties.is_required, properties.position),
            list(
                json_merge_patch('{}', json_object(
                    'type', 'string',
                    'description', properties.description,
                    'enum', properties.allowed,
                    'default', properties.default_value
                ))
                order by not properties.is_required, properties.position
            )
        ) as properties,
        list(properties.slot order by properties.position) filter (where properties.is_required) as required
    from properties
    group by properties.split, properties.service, properties.intent
),

intents as (
    select
        intents.split,
        intents.service,
        intents.intent,
        intents.position,
        intents.description
    from dim_intents as intents
    where intents.corpus_id = 'sgd' and intents.intent_key not like '%~%'
),

-- A few rows, so that the JSON is made once, not for each dialogue.
described as materialized (
    select
        intents.*,
        json_object(
            'type', 'object',
            'properties', coalesce(to_json(parameters.properties), '{}'),
            'required', coalesce(parameters.required, [])
        ) as parameters
    from intents
    left join parameters
        on
            intents.split = parameters.split
            and intents.service = parameters.service
            and intents.intent = parameters.intent
)

select
    services.dialogue_key,
    services.position * 1000 + described.position as position,
    described.service || if(contains(described.intent, '_'), '/', '_') || described.intent as name,
    described.description,
    described.parameters
from dim_dialogue_services as services
semi join batch on services.dialogue_key = batch.dialogue_key
inner join described on services.split = described.split and services.service = described.service
