{#- The ontology's definitions; a line of a split file has no name, its key is the file and its number. -#}
with

domains as (
    select
        source_file_id,
        record_index,
        service,
        '/' || {{ pointer_token('source_name') }} as record_pointer
    from {{ ref('stg_taskmaster1__ontology') }}
),

places as (
    select
        'taskmaster1/ontology/service/' || {{ key_segment('service') }} as traced_key,
        service,
        '' as pointer_tail
    from domains

    union all

    select
        'taskmaster1/ontology/service/' || {{ key_segment('service') }} || '/slot/' || requirement || '/'
            || {{ key_segment('label') }} as traced_key,
        service,
        '/' || requirement || '/' || cast(position as string) as pointer_tail
    from {{ ref('stg_taskmaster1__ontology_labels') }}
)

select
    places.traced_key,
    'taskmaster1' as corpus_id,

    domains.source_file_id,
    domains.record_index,
    domains.record_pointer,
    domains.record_pointer || places.pointer_tail as json_pointer
from places
inner join domains
    on places.service = domains.service

union all

select
    source_file_id || '/' || cast(record_index as string) as traced_key,
    'taskmaster1' as corpus_id,

    source_file_id,
    record_index,
    '/' || cast(record_index as string) as record_pointer,
    '/' || cast(record_index as string) as json_pointer
from {{ ref('stg_taskmaster1__split_members') }}
