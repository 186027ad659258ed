{#- Defects and properties of SGD: one CTE per rule, named after the rule; claims.toml describes each under
    [[defects]]. The rules about states are in sgd__state_rules, the rules about returned entities in
    sgd__result_rules, and those about routes, dates, booleans, accepted offers and wordings in files of that name.
    Longer than 240 lines: the rules about acts and schemas, which read the same tables. -#}
with

definitions as (
    select
        definitions.split,
        definitions.service,
        definitions.slot,
        definitions.is_categorical,
        definitions.possible_values,
        definitions.slot_definition_key
    from {{ ref('dim_slots') }} as definitions
    where definitions.corpus_id = 'sgd' and {{ is_first('definitions.slot_definition_key') }}
),

-- In earlier versions, values had a Unicode dash where the utterance had an ASCII dash; now the release is all ASCII.
non_ascii_text as (
    select
        dialogue_key,
        turn_index,
        turn_key as row_key,
        cast(null as string) as service,
        cast(null as string) as slot_name,
        'utterance ' || utterance as detail
    from {{ ref('fct_turns') }}
    where corpus_id = 'sgd' and bit_length(utterance) <> 8 * length(utterance)

    union all

    select
        dialogue_key,
        turn_index,
        slot_key as row_key,
        service,
        slot_name,
        coalesce(slot_name || ' = ', '') || value as detail
    from {{ ref('fct_slots') }}
    where
        corpus_id = 'sgd'
        and annotation_type <> 'span'
        and (
            bit_length(value) <> 8 * length(value)
            or bit_length(canonical_value) <> 8 * length(canonical_value)
        )
),

-- A categorical slot with a value that its schema does not list. The acts that name an intent put it into a slot
-- `intent`, which is different from a slot of this name that a service may have.
impossible_value as (
    select
        slots.dialogue_key,
        slots.turn_index,
        slots.slot_key as row_key,
        slots.service,
        slots.slot_name,
        slots.slot_name || ' = ' || coalesce(slots.canonical_value, slots.value) as detail
    from {{ ref('fct_slots') }} as slots
    inner join definitions
        on
            slots.split = definitions.split
            and slots.service = definitions.service
            and slots.slot_name = definitions.slot
    left join {{ ref('fct_actions') }} as naming
        on
            slots.annotation_type = 'action_value'
            and slots.slot_name = 'intent'
            and slots.turn_key = naming.turn_key
            and slots.frame_index = naming.frame_index
            and slots.action_index = naming.action_index
            and naming.corpus_id = 'sgd'
            and naming.act in ('INFORM_INTENT', 'OFFER_INTENT')
    where
        slots.corpus_id = 'sgd'
        and definitions.is_categorical
        and slots.annotation_type in ('state', 'action_value')
        and coalesce(slots.canonical_value, slots.value) <> 'dontcare'
        and not array_contains(definitions.possible_values, coalesce(slots.canonical_value, slots.value))
        and naming.action_key is null
),

-- The system counts results or reports a success, but the frame calls no service.
missing_call as (
    select
        actions.dialogue_key,
        actions.turn_index,
        actions.action_key as row_key,
        actions.service,
        actions.slot_name,
        actions.act || ' without a service call' as detail
    from {{ ref('fct_actions') }} as actions
    left join {{ ref('fct_service_calls') }} as calls
        on
            actions.turn_key = calls.turn_key
            and actions.frame_index = calls.frame_index
    where
        actions.corpus_id = 'sgd'
        and actions.act in ('INFORM_COUNT', 'NOTIFY_SUCCESS')
        and actions.canonical_values is not null  -- versions that lack these have no calls either
        and calls.call_key is null
),

-- The system states a number of results that differs from the number that the call returned.
wrong_count as (
    select
        actions.dialogue_key,
        actions.turn_index,
        actions.action_key as row_key,
        calls.call_key as other_key,
        actions.service,
        actions.slot_name,
        {{ list_join('actions.canonical_values', "', '") }} || ' announced, ' || cast(calls.result_count as string)
            || ' returned' as detail
    from {{ ref('fct_actions') }} as actions
    inner join {{ ref('fct_service_calls') }} as calls
        on
            actions.turn_key = calls.turn_key
            and actions.frame_index = calls.frame_index
    where
        actions.corpus_id = 'sgd'
        and actions.act = 'INFORM_COUNT'
        and {{ list_join('actions.canonical_values', "', '") }} <> cast(calls.result_count as string)
),

required_slots as (
    select distinct
        intent_key,
        slot
    from {{ ref('dim_intent_slots') }}
    where corpus_id = 'sgd' and requirement = 'required'
),

-- A service is called without a slot that its intent requires.
missing_required_slot as (
    select
        calls.dialogue_key,
        calls.turn_index,
        calls.call_key as row_key,
        calls.service,
        required_slots.slot as slot_name,
        calls.method || ' is called without ' || required_slots.slot as detail
    from {{ ref('fct_service_calls') }} as calls
    inner join {{ ref('dim_intents') }} as intents
        on
            calls.corpus_id = intents.corpus_id
            and calls.split = intents.split
            and calls.service = intents.service
            and calls.method = intents.intent
            and {{ is_first('intents.intent_key') }}
    inner join required_slots
        on intents.intent_key = required_slots.intent_key
    left join {{ ref('fct_slots') }} as slots
        on
            slots.annotation_type = 'call_parameter'
            and calls.turn_key = slots.turn_key
            and calls.frame_index = slots.frame_index
            and required_slots.slot = slots.slot_name
    where calls.corpus_id = 'sgd' and slots.slot_key is null
),

-- A speaker repeats the previous utterance word for word, and it is longer than a phrase.
repeated_own_turn as (
    select
        turns.dialogue_key,
        turns.turn_index,
        turns.turn_key as row_key,
        last_turns.turn_key as other_key,
        'also said in turn ' || cast(last_turns.turn_index as string) || ': ' || turns.utterance as detail
    from {{ ref('fct_turns') }} as turns
    inner join {{ ref('fct_turns') }} as last_turns
        on
            turns.dialogue_key = last_turns.dialogue_key
            and turns.turn_index = last_turns.turn_index + 2
            and turns.source_speaker = last_turns.source_speaker
            and turns.utterance = last_turns.utterance
    where
        turns.corpus_id = 'sgd'
        and last_turns.corpus_id = 'sgd'
        and length(turns.utterance) > 25
        and length(last_turns.utterance) > 25
),

-- A slot that is not categorical has possible values.
listed_open_values as (
    select
        slot_definition_key as row_key,
        service,
        slot as slot_name,
        service || '.' || slot || ' is not categorical, but lists '
            || {{ list_join('possible_values', "', '") }} as detail
    from definitions
    where not is_categorical and cardinality(possible_values) > 0
),

-- A slot has a name that acts use for something else.
reserved_slot_name as (
    select
        slot_definition_key as row_key,
        service,
        slot as slot_name,
        service || ' has a slot named ' || slot as detail
    from definitions
    where slot in ('intent', 'count')
),

-- By design: a service of dev or test that train lacks.
unseen_service as (
    select
        services.service_definition_key as row_key,
        services.service,
        cast(null as string) as slot_name,
        services.service || ' is not in train' as detail
    from {{ ref('dim_services') }} as services
    left join {{ ref('dim_services') }} as trained
        on
            services.corpus_id = trained.corpus_id
            and services.service = trained.service
            and trained.split = 'train'
    where
        services.corpus_id = 'sgd'
        and trained.service is null
        and exists (select 1 from {{ ref('dim_services') }} where corpus_id = 'sgd' and split = 'train')
)

{{ stack_rules(
    'sgd',
    turns=[
        'non_ascii_text',
        'impossible_value',
        'missing_call',
        'wrong_count',
        'missing_required_slot',
        'repeated_own_turn'
    ],
    definitions=[
        'listed_open_values',
        'reserved_slot_name',
        'unseen_service'
    ],
    others=[
        'wrong_count',
        'repeated_own_turn'
    ],
    slots=[
        'non_ascii_text',
        'impossible_value',
        'missing_call',
        'wrong_count',
        'missing_required_slot',
        'listed_open_values',
        'reserved_slot_name',
        'unseen_service'
    ],
    relations=[
        ref('sgd__state_rules'),
        ref('sgd__result_rules'),
        ref('sgd__route_rules'),
        ref('sgd__text_rules'),
        ref('sgd__date_rules'),
        ref('sgd__boolean_rules'),
        ref('sgd__offer_rules')
    ]
) }}
