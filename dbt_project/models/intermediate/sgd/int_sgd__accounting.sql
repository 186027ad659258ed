{%- set dialogues = source('raw_sgd', 'sgd__dialogues') -%}
{%- set services = source('raw_sgd', 'sgd__services') -%}
{%- set frames = list_flatten(list_map('turns', 'turn', 'turn.frames')) -%}
{%- set intents = count_within(list_map('intents', 'intent', 'intent.required_slots'))
    ~ ' + ' ~ count_within(list_map('intents', 'intent', 'map_keys(intent.optional_slots)'))
    ~ ' + ' ~ count_within(list_map('intents', 'intent', 'intent.result_slots')) -%}
{%- set slots = ref('int_sgd__slots') -%}
{%- set action_values = list_map(
    list_flatten(list_map(frames, 'frame', 'frame.actions')), 'action',
    'case when cardinality(action.canonical_values) > coalesce(cardinality(action.values), 0) '
        ~ 'then action.canonical_values else action.values end'
) -%}

{{ account('sgd', [
    counted('dialogues', '1', dialogues, ref('stg_sgd__dialogues'), ref('int_sgd__dialogues'),
            record_entity='dialogues', core='dim_dialogues'),
    counted('dialogue_services', 'cardinality(services)', dialogues, ref('stg_sgd__dialogue_services'),
            ref('int_sgd__dialogue_services'), core='dim_dialogue_services'),
    counted('turns', 'cardinality(turns)', dialogues, ref('stg_sgd__nested_turns'), ref('int_sgd__turns'),
            core='fct_turns'),
    counted('frames', 'cardinality(' ~ frames ~ ')', dialogues, ref('stg_sgd__frames'), ref('int_sgd__frames'),
            core='fct_frames'),
    counted('actions', count_within(list_map(frames, 'frame', 'frame.actions')), dialogues,
            ref('stg_sgd__actions'), ref('int_sgd__actions'), core='fct_actions'),
    counted('spans', count_within(list_map(frames, 'frame', 'frame.slots')), dialogues,
            ref('stg_sgd__spans'), slots, conformed_where="annotation_type = 'span'",
            core='fct_slots', core_where="annotation_type = 'span'"),
    counted('state_values',
            count_within(list_flatten(list_map(frames, 'frame', 'map_values(frame.state.slot_values)'))),
            dialogues, ref('stg_sgd__state_values'), slots, staged_where='variant_index is not null',
            conformed_where="annotation_type = 'state' and value_index is not null",
            core='fct_slots', core_where="annotation_type = 'state' and value_index is not null"),
    counted('action_values', count_within(action_values), dialogues, ref('stg_sgd__action_values'),
            slots, conformed_where="annotation_type = 'action_value'",
            core='fct_slots', core_where="annotation_type = 'action_value'"),
    counted('call_parameters',
            count_within(list_map(frames, 'frame', 'map_keys(frame.service_call.parameters)')),
            dialogues, ref('stg_sgd__call_parameters'), slots, conformed_where="annotation_type = 'call_parameter'",
            core='fct_slots', core_where="annotation_type = 'call_parameter'"),
    counted('service_calls', count_where(frames, 'frame', 'frame.service_call is not null'), dialogues,
            ref('stg_sgd__frames'), ref('int_sgd__service_calls'), staged_where='method is not null',
            core='fct_service_calls'),
    counted('service_results', count_within(list_map(frames, 'frame', 'frame.service_results')),
            dialogues, ref('stg_sgd__service_results'), ref('int_sgd__service_results'), core='fct_service_results'),
    counted('services', '1', services, ref('stg_sgd__services'), ref('int_sgd__services'), record_entity='services',
            core='dim_services'),
    counted('slot_definitions', 'cardinality(slots)', services, ref('stg_sgd__slots'),
            ref('int_sgd__slot_definitions'), core='dim_slots'),
    counted('intents', 'cardinality(intents)', services, ref('stg_sgd__intents'), ref('int_sgd__intents'),
            core='dim_intents'),
    counted('intent_slots', intents, services, ref('stg_sgd__intent_slots'), ref('int_sgd__intent_slots'),
            core='dim_intent_slots')
]) }}
