{#- What SGD's systems say and return against what was asked, one CTE a rule; sgd__rules has the other rules. -#}
with

returned as (
    select
        dialogue_key,
        turn_index,
        service,
        {{ explode_map('entity', 'slot_name', 'value', 'position') }}
    from {{ ref('fct_service_results') }}
    where corpus_id = 'sgd'
),

outcomes as (
    select
        turn_key,
        frame_index,
        max(act) as act
    from {{ ref('fct_actions') }}
    where corpus_id = 'sgd' and act in ('NOTIFY_SUCCESS', 'NOTIFY_FAILURE')
    group by turn_key, frame_index
),

-- The value is looked up in the entity: seven times as many rows would be joined were it taken apart.
answered as (
    select
        calls.dialogue_key,
        calls.turn_key,
        calls.turn_index,
        calls.frame_index,
        calls.call_key,
        parameters.slot_name,
        parameters.value,
        {{ map_at('results.entity', 'parameters.slot_name') }} as returned_value
    from {{ ref('fct_service_calls') }} as calls
    inner join {{ ref('fct_slots') }} as parameters
        on
            parameters.corpus_id = 'sgd'
            and parameters.annotation_type = 'call_parameter'
            and calls.turn_key = parameters.turn_key
            and calls.frame_index = parameters.frame_index
    inner join {{ ref('fct_service_results') }} as results
        on
            calls.turn_key = results.turn_key
            and calls.frame_index = results.frame_index
    where calls.corpus_id = 'sgd' and parameters.value <> 'dontcare'
),

contradictions as (
    select
        answered.dialogue_key,
        answered.turn_index,
        answered.call_key,
        outcomes.act as outcome,
        min(
            answered.slot_name || ' = ' || answered.value || ' was asked, ' || answered.returned_value || ' returned'
        ) as first_contradiction
    from answered
    left join outcomes
        on
            answered.turn_key = outcomes.turn_key
            and answered.frame_index = outcomes.frame_index
    where answered.value <> answered.returned_value
    group by answered.dialogue_key, answered.turn_index, answered.call_key, outcomes.act
),

-- The system tells of a success, and what was booked is not what was asked for; one row a call.
contradicted_success as (
    select
        dialogue_key,
        turn_index,
        call_key as row_key,
        first_contradiction as detail
    from contradictions
    where outcome = 'NOTIFY_SUCCESS'
),

-- A search returns something else than was asked for; one row a call. After a failure it is what is offered instead.
contradicted_search as (
    select
        dialogue_key,
        turn_index,
        call_key as row_key,
        first_contradiction as detail
    from contradictions
    where outcome is null
),

offered as (
    select
        actions.dialogue_key,
        actions.turn_index,
        actions.service,
        actions.action_key,
        actions.act,
        actions.slot_name,
        spoken.canonical_value as value
    from {{ ref('fct_actions') }} as actions
    inner join {{ ref('fct_slots') }} as spoken
        on
            spoken.corpus_id = 'sgd'
            and spoken.annotation_type = 'action_value'
            and actions.turn_key = spoken.turn_key
            and actions.frame_index = spoken.frame_index
            and actions.action_index = spoken.action_index
    where actions.corpus_id = 'sgd' and actions.role = 'system' and actions.act in ('OFFER', 'INFORM')
),

-- The system offers or tells a value that no entity has which the service has returned so far.
unreturned_value as (
    select
        offered.dialogue_key,
        offered.turn_index,
        offered.action_key as row_key,
        offered.act || ' of ' || offered.slot_name || ' = ' || offered.value || ', which was never returned' as detail
    from offered
    where not exists (
        select 1
        from returned
        where
            offered.dialogue_key = returned.dialogue_key
            and offered.service = returned.service
            and offered.slot_name = returned.slot_name
            and offered.value = returned.value
            and offered.turn_index >= returned.turn_index
    )
),

-- The user gives a value, and the state after it lacks the slot.
forgotten_value as (
    select
        informed.dialogue_key,
        informed.turn_index,
        informed.action_key as row_key,
        informed.slot_name || ' is given and not in the state' as detail
    from {{ ref('fct_actions') }} as informed
    left join {{ ref('fct_slots') }} as states
        on
            states.corpus_id = 'sgd'
            and states.annotation_type = 'state'
            and coalesce(states.value_index, 0) = 0
            and informed.turn_key = states.turn_key
            and informed.frame_index = states.frame_index
            and informed.slot_name = states.slot_name
    where
        informed.corpus_id = 'sgd'
        and informed.role = 'user'
        and informed.act = 'INFORM'
        and states.slot_key is null
),

-- A speaker says word for word what he said last, and more than a phrase.
repeated_own_turn as (
    select
        turns.dialogue_key,
        turns.turn_index,
        turns.turn_key as row_key,
        'said in turn ' || cast(last_turns.turn_index as string) || ' too: ' || turns.utterance as detail
    from {{ ref('fct_turns') }} as turns
    inner join {{ ref('fct_turns') }} as last_turns
        on
            turns.dialogue_key = last_turns.dialogue_key
            and turns.turn_index = last_turns.turn_index + 2
            and turns.source_speaker = last_turns.source_speaker
            and turns.utterance = last_turns.utterance
    where turns.corpus_id = 'sgd' and last_turns.corpus_id = 'sgd' and length(turns.utterance) > 25
),

returned_slots as (
    select
        results.dialogue_key,
        results.turn_index,
        results.result_key,
        results.split,
        results.service,
        calls.method,
        map_keys(results.entity) as slots
    from {{ ref('fct_service_results') }} as results
    inner join {{ ref('fct_service_calls') }} as calls
        on
            results.turn_key = calls.turn_key
            and results.frame_index = calls.frame_index
    where calls.corpus_id = 'sgd'
),

-- What the results of a method have is nearly always the same: it is compared with the schema once.
lacking as (
    select
        returned_slots.split,
        returned_slots.service,
        returned_slots.method,
        returned_slots.slots,
        declared.slot
    from (select distinct split, service, method, slots from returned_slots) as returned_slots
    inner join {{ ref('dim_intents') }} as intents
        on
            intents.corpus_id = 'sgd'
            and returned_slots.split = intents.split
            and returned_slots.service = intents.service
            and returned_slots.method = intents.intent
            and {{ is_first('intents.intent_key') }}
    inner join {{ ref('dim_intent_slots') }} as declared
        on
            intents.intent_key = declared.intent_key
            and declared.requirement = 'result'
    where not array_contains(returned_slots.slots, declared.slot)
),

-- An entity that was returned lacks a slot which the schema says the intent's results have.
missing_result_slot as (
    select
        returned_slots.dialogue_key,
        returned_slots.turn_index,
        returned_slots.result_key as row_key,
        returned_slots.method || ' returns no ' || lacking.slot as detail
    from returned_slots
    inner join lacking
        on
            returned_slots.split = lacking.split
            and returned_slots.service = lacking.service
            and returned_slots.method = lacking.method
            and returned_slots.slots = lacking.slots
)

{{ stack_rules(
    'sgd',
    turns=[
        'contradicted_success',
        'contradicted_search',
        'unreturned_value',
        'forgotten_value',
        'repeated_own_turn',
        'missing_result_slot'
    ]
) }}
