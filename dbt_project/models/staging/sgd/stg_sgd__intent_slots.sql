with

required as (
    select
        source_part,
        service,
        service_occurrence,
        intent.name as intent,
        intent_occurrence,
        {{ explode_indexed('intent.required_slots', 'slot', 'position') }}
    from {{ ref('stg_sgd__nested_intents') }}
),

optional as (
    select
        source_part,
        service,
        service_occurrence,
        intent.name as intent,
        intent_occurrence,
        {{ explode_map('intent.optional_slots', 'slot', 'default_value', 'position') }}
    from {{ ref('stg_sgd__nested_intents') }}
),

result as (
    select
        source_part,
        service,
        service_occurrence,
        intent.name as intent,
        intent_occurrence,
        {{ explode_indexed('intent.result_slots', 'slot', 'position') }}
    from {{ ref('stg_sgd__nested_intents') }}
)

select
    source_part,
    service,
    service_occurrence,
    intent,
    intent_occurrence,
    slot,
    'required' as requirement,
    position,
    cast(null as string) as default_value
from required

union all

select
    source_part,
    service,
    service_occurrence,
    intent,
    intent_occurrence,
    slot,
    'optional' as requirement,
    position,
    default_value
from optional

union all

select
    source_part,
    service,
    service_occurrence,
    intent,
    intent_occurrence,
    slot,
    'result' as requirement,
    position,
    cast(null as string) as default_value
from result
