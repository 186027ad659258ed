{#- Rules that compare what SGD's systems say and return with the user's request, one CTE per rule; sgd__rules has
    the other rules. DuckDB holds the hash tables of all branches of a union at once, so rules that read no results
    are in other files. -#}
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

-- The value is looked up in the entity's map. Unnesting the map would join seven times as many rows.
answered as (
    select
        calls.dialogue_key,
        calls.turn_key,
        calls.turn_index,
        calls.frame_index,
        calls.call_key,
        calls.service,
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
        answered.service,
        outcomes.act as outcome,
        min(
            answered.slot_name || ' = ' || answered.value || ' was requested, ' || answered.returned_value
            || ' was returned'
        ) as first_contradiction
    from answered
    left join outcomes
        on
            answered.turn_key = outcomes.turn_key
            and answered.frame_index = outcomes.frame_index
    where answered.value <> answered.returned_value
    group by answered.dialogue_key, answered.turn_index, answered.call_key, answered.service, outcomes.act
),

-- The system reports a success, but the booking differs from the request; one row per call.
contradicted_success as (
    select
        dialogue_key,
        turn_index,
        call_key as row_key,
        service,
        cast(null as string) as slot_name,
        first_contradiction as detail
    from contradictions
    where outcome = 'NOTIFY_SUCCESS'
),

-- A search returns something other than the request; one row per call. After a failure the results are an alternative
-- offer and do not count.
contradicted_search as (
    select
        dialogue_key,
        turn_index,
        call_key as row_key,
        service,
        cast(null as string) as slot_name,
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
    where
        actions.corpus_id = 'sgd'
        and actions.role = 'system'
        and actions.act in ('OFFER', 'INFORM')
        and actions.slot_name is not null
        and spoken.canonical_value is not null
),

-- The system offers or states a value that is in none of the entities that the service has returned so far.
unreturned_value as (
    select
        offered.dialogue_key,
        offered.turn_index,
        offered.action_key as row_key,
        offered.service,
        offered.slot_name,
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

returned_slots as (
    select distinct
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

-- The results of a method nearly always have the same slots, so each set of slots is compared with the schema once.
lacking as (
    select distinct
        returned_slots.split,
        returned_slots.service,
        returned_slots.method,
        declared.slot
    from returned_slots
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

-- A returned entity lacks a slot that, according to the schema, the results of the intent have.
missing_result_slot as (
    select
        results.dialogue_key,
        results.turn_index,
        results.result_key as row_key,
        results.service,
        lacking.slot as slot_name,
        calls.method || ' returns no ' || lacking.slot as detail
    from {{ ref('fct_service_results') }} as results
    inner join {{ ref('fct_service_calls') }} as calls
        on
            results.turn_key = calls.turn_key
            and results.frame_index = calls.frame_index
    inner join lacking
        on
            results.split = lacking.split
            and results.service = lacking.service
            and calls.method = lacking.method
    where results.corpus_id = 'sgd' and not array_contains(map_keys(results.entity), lacking.slot)
)

{{ stack_rules(
    'sgd',
    turns=[
        'contradicted_success',
        'contradicted_search',
        'unreturned_value',
        'missing_result_slot'
    ],
    slots=[
        'contradicted_success',
        'contradicted_search',
        'unreturned_value',
        'missing_result_slot'
    ]
) }}
