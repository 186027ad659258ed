{#- The definitions of the ontology, and the lines of the split files. A line has no name; its key is the file and
    the line's number. -#}
with

places as (
    select
        'taskmaster1/ontology/service/'
            || {{ numbered_segment('service', 'service_occurrence') }} as traced_key,
        source_file_id,
        record_index,
        source_name,
        '' as pointer_tail
    from {{ ref('stg_taskmaster1__ontology') }}

    union all

    select
        'taskmaster1/ontology/service/'
            || {{ numbered_segment('service', 'service_occurrence') }} || '/slot/' || requirement || '/'
            || {{ numbered_segment('label', 'label_occurrence') }} as traced_key,
        source_file_id,
        record_index,
        source_name,
        '/' || requirement || '/' || cast(position as string) as pointer_tail
    from {{ ref('stg_taskmaster1__ontology_labels') }}
)

select
    traced_key,
    'taskmaster1' as corpus_id,

    source_file_id,
    record_index,
    '/' || {{ pointer_token('source_name') }} as record_pointer,
    '/' || {{ pointer_token('source_name') }} || pointer_tail as json_pointer
from places

union all

select
    source_file_id || '/' || cast(record_index as string) as traced_key,
    'taskmaster1' as corpus_id,

    source_file_id,
    record_index,
    '/' || cast(record_index as string) as record_pointer,
    '/' || cast(record_index as string) as json_pointer
from {{ ref('stg_taskmaster1__split_members') }}
