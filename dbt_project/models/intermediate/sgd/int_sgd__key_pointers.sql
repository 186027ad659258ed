with

services as (
    select
        source_file_id,
        record_index,
        source_part,
        service,
        '/' || cast(record_index as string) as record_pointer
    from {{ ref('stg_sgd__services') }}
),

places as (
    select
        'sgd/' || {{ key_segment('source_part') }} || '/service/' || {{ key_segment('service') }} as traced_key,
        source_part,
        service,
        '' as pointer_tail
    from services

    union all

    select
        'sgd/' || {{ key_segment('source_part') }} || '/service/' || {{ key_segment('service') }} || '/intent/'
            || {{ key_segment('intent') }} as traced_key,
        source_part,
        service,
        '/intents/' || cast(position as string) as pointer_tail
    from {{ ref('stg_sgd__intents') }}

    union all

    select
        'sgd/' || {{ key_segment('source_part') }} || '/service/' || {{ key_segment('service') }} || '/slot/'
            || {{ key_segment('slot') }} as traced_key,
        source_part,
        service,
        '/slots/' || cast(position as string) as pointer_tail
    from {{ ref('stg_sgd__slots') }}
)

select
    places.traced_key,
    'sgd' as corpus_id,

    services.source_file_id,
    services.record_index,
    services.record_pointer,
    services.record_pointer || places.pointer_tail as json_pointer
from places
inner join services
    on
        places.source_part = services.source_part
        and places.service = services.service
