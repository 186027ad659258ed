-- Rebuilds the SGD release from core. `batch` holds the source_file_id of the requested files.
-- Longer than 240 lines: one query per entity, and a dialogue here has six kinds of nested lists.

-- entity: dialogues
with

dialogues as (
    select
        dialogues.dialogue_key,
        dialogues.source_file_id,
        dialogues.record_index,
        dialogues.dialogue_id
    from dim_dialogues as dialogues
    semi join batch on dialogues.source_file_id = batch.source_file_id
),

slots as (
    select
        slots.turn_key,
        slots.frame_index,
        slots.annotation_type,
        slots.slot_name,
        slots.span_index,
        slots.value_index,
        slots.value,
        slots.start_char,
        slots.end_char
    from fct_slots as slots
    semi join dialogues on slots.dialogue_key = dialogues.dialogue_key
    where slots.annotation_type <> 'action_value'
),

spans as (
    select
        turn_key,
        frame_index,
        list({'slot': slot_name, 'start': start_char, 'exclusive_end': end_char} order by span_index) as slots
    from slots
    where annotation_type = 'span'
    group by turn_key, frame_index
),

state_slots as (
    select
        turn_key,
        frame_index,
        slot_name,
        coalesce(list(value order by value_index) filter (where value_index is not null), []) as variants
    from slots
    where annotation_type = 'state'
    group by turn_key, frame_index, slot_name
),

states as (
    select
        turn_key,
        frame_index,
        map_from_entries(list({'k': slot_name, 'v': variants} order by slot_name)) as slot_values
    from state_slots
    group by turn_key, frame_index
),

parameters as (
    select
        turn_key,
        frame_index,
        map_from_entries(list({'k': slot_name, 'v': value} order by slot_name)) as parameters
    from slots
    where annotation_type = 'call_parameter'
    group by turn_key, frame_index
),

actions as (
    select
        actions.turn_key,
        actions.frame_index,
        list(
            {
                'act': actions.act,
                'slot': coalesce(actions.slot_name, ''),
                'values': actions.action_values,
                'canonical_values': actions.canonical_values
            }
            order by actions.action_index
        ) as actions
    from fct_actions as actions
    semi join dialogues on actions.dialogue_key = dialogues.dialogue_key
    group by actions.turn_key, actions.frame_index
),

calls as (
    select
        calls.turn_key,
        calls.frame_index,
        calls.method
    from fct_service_calls as calls
    semi join dialogues on calls.dialogue_key = dialogues.dialogue_key
),

results as (
    select
        results.turn_key,
        results.frame_index,
        list(results.entity order by results.result_index) as service_results
    from fct_service_results as results
    semi join dialogues on results.dialogue_key = dialogues.dialogue_key
    group by results.turn_key, results.frame_index
),

annotated_frames as (
    select
        frames.turn_key,
        frames.frame_index,
        frames.service,
        coalesce(spans.slots, []) as slots,
        coalesce(actions.actions, []) as actions,
        frames.active_intent is not null as has_state,
        {
            'active_intent': frames.active_intent,
            'requested_slots': frames.requested_slots,
            'slot_values': coalesce(states.slot_values, map {})
        } as state,
        calls.method is not null as has_call,
        {'method': calls.method, 'parameters': coalesce(parameters.parameters, map {})} as service_call,
        coalesce(results.service_results, []) as service_results
    from fct_frames as frames
    semi join dialogues on frames.dialogue_key = dialogues.dialogue_key
    left join spans on frames.turn_key = spans.turn_key and frames.frame_index = spans.frame_index
    left join actions on frames.turn_key = actions.turn_key and frames.frame_index = actions.frame_index
    left join states on frames.turn_key = states.turn_key and frames.frame_index = states.frame_index
    left join calls on frames.turn_key = calls.turn_key and frames.frame_index = calls.frame_index
    left join parameters on frames.turn_key = parameters.turn_key and frames.frame_index = parameters.frame_index
    left join results on frames.turn_key = results.turn_key and frames.frame_index = results.frame_index
),

frames as (
    select
        turn_key,
        list(
            -- A key that the release leaves out is left out here: neither null nor empty.
            case
                when has_state and has_call
                    then to_json({
                        'service': service, 'slots': slots, 'actions': actions, 'state': state,
                        'service_call': service_call, 'service_results': service_results
                    })
                when has_state
                    then to_json({'service': service, 'slots': slots, 'actions': actions, 'state': state})
                when has_call
                    then to_json({
                        'service': service, 'slots': slots, 'actions': actions,
                        'service_call': service_call, 'service_results': service_results
                    })
                else to_json({'service': service, 'slots': slots, 'actions': actions})
            end
            order by frame_index
        ) as frames
    from annotated_frames
    group by turn_key
),

turns as (
    select
        turns.dialogue_key,
        list(
            {
                'speaker': turns.source_speaker,
                'utterance': turns.utterance,
                'frames': coalesce(frames.frames, [])
            }
            order by turns.turn_index
        ) as turns
    from fct_turns as turns
    semi join dialogues on turns.dialogue_key = dialogues.dialogue_key
    left join frames on turns.turn_key = frames.turn_key
    group by turns.dialogue_key
),

services as (
    select
        services.dialogue_key,
        list(services.service order by services.position) as services
    from dim_dialogue_services as services
    semi join dialogues on services.dialogue_key = dialogues.dialogue_key
    group by services.dialogue_key
)

select
    dialogues.source_file_id,
    dialogues.record_index,
    null as record_key,
    to_json({
        'dialogue_id': dialogues.dialogue_id,
        'services': coalesce(services.services, []),
        'turns': coalesce(turns.turns, [])
    }) as record
from dialogues
left join services on dialogues.dialogue_key = services.dialogue_key
left join turns on dialogues.dialogue_key = turns.dialogue_key

-- entity: services
with

files as (
    select
        source_file_id,
        case source_part when 'dev' then 'validation' else source_part end as split,
        record_count,
        sum(record_count) over (partition by source_part order by source_file_id) - record_count as records_before
    from dim_source_files
    where corpus_id = 'sgd' and entity = 'services'
),

slots as (
    select
        regexp_replace(slot_definition_key, '/slot/[^/]*$', '') as service_definition_key,
        service,
        list(
            {
                'name': slot,
                'description': description,
                'is_categorical': is_categorical,
                'possible_values': possible_values
            }
            order by position
        ) as slots
    from dim_slots
    where corpus_id = 'sgd'
    group by service_definition_key, service
),

intent_slots as (
    select
        intent_key,
        list(slot order by position) filter (where requirement = 'required') as required_slots,
        map_from_entries(
            list({'k': slot, 'v': default_value} order by position) filter (where requirement = 'optional')
        ) as optional_slots,
        list(slot order by position) filter (where requirement = 'result') as result_slots
    from dim_intent_slots
    where corpus_id = 'sgd'
    group by intent_key
),

intents as (
    select
        regexp_replace(intents.intent_key, '/intent/[^/]*$', '') as service_definition_key,
        intents.service,
        list(
            {
                'name': intents.intent,
                'description': intents.description,
                'is_transactional': intents.is_transactional,
                'required_slots': coalesce(intent_slots.required_slots, []),
                'optional_slots': coalesce(intent_slots.optional_slots, map {}),
                'result_slots': coalesce(intent_slots.result_slots, [])
            }
            order by intents.position
        ) as intents
    from dim_intents as intents
    left join intent_slots on intents.intent_key = intent_slots.intent_key
    where intents.corpus_id = 'sgd'
    group by service_definition_key, intents.service
)

select
    files.source_file_id,
    services.position - files.records_before as record_index,
    null as record_key,
    to_json({
        'service_name': services.service,
        'description': services.description,
        'slots': coalesce(slots.slots, []),
        'intents': coalesce(intents.intents, [])
    }) as record
from dim_services as services
inner join files
    on
        services.split = files.split
        and services.position >= files.records_before
        and services.position < files.records_before + files.record_count
semi join batch on files.source_file_id = batch.source_file_id
left join slots
    on services.service_definition_key = slots.service_definition_key and services.service = slots.service
left join intents
    on services.service_definition_key = intents.service_definition_key and services.service = intents.service
where services.corpus_id = 'sgd'
