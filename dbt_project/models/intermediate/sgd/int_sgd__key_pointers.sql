with

places as (
    select
        'sgd/' || {{ key_segment('source_part') }} || '/service/'
            || {{ numbered_segment('service', 'service_occurrence') }} as traced_key,
        source_file_id,
        record_index,
        '' as pointer_tail
    from {{ ref('stg_sgd__services') }}

    union all

    select
        'sgd/' || {{ key_segment('source_part') }} || '/service/'
            || {{ numbered_segment('service', 'service_occurrence') }} || '/intent/'
            || {{ numbered_segment('intent', 'intent_occurrence') }} as traced_key,
        source_file_id,
        record_index,
        '/intents/' || cast(position as string) as pointer_tail
    from {{ ref('stg_sgd__intents') }}

    union all

    select
        'sgd/' || {{ key_segment('source_part') }} || '/service/'
            || {{ numbered_segment('service', 'service_occurrence') }} || '/slot/'
            || {{ numbered_segment('slot', 'slot_occurrence') }} as traced_key,
        source_file_id,
        record_index,
        '/slots/' || cast(position as string) as pointer_tail
    from {{ ref('stg_sgd__slots') }}
)

select
    traced_key,
    'sgd' as corpus_id,

    source_file_id,
    record_index,
    '/' || cast(record_index as string) as record_pointer,
    '/' || cast(record_index as string) || pointer_tail as json_pointer
from places
