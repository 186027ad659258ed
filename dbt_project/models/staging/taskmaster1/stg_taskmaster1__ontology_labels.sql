with

required as (
    select
        id as service,
        {{ explode_indexed('required', 'label', 'position') }}
    from {{ source('raw_taskmaster1', 'taskmaster1__ontology') }}
),

optional as (
    select
        id as service,
        {{ explode_indexed('optional', 'label', 'position') }}
    from {{ source('raw_taskmaster1', 'taskmaster1__ontology') }}
)

select
    service,
    label,
    'required' as requirement,
    position
from required

union all

select
    service,
    label,
    'optional' as requirement,
    position
from optional
