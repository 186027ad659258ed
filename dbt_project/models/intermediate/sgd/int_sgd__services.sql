{{ config(meta={'lacks': ['source_name', 'vertical']}) }}

with

-- A republication may have the services of a split in several files, which are read one after the other.
files as (
    select
        source_file_id,
        sum(record_count) over (partition by source_part order by source_file_id) - record_count as records_before
    from {{ ref('stg_landing__source_files') }}
    where corpus_id = 'sgd' and entity = 'services'
)

select
    'sgd/' || {{ key_segment('services.source_part') }} || '/service/'
        || {{ numbered_segment('services.service', 'services.service_occurrence') }} as service_definition_key,
    'sgd' as corpus_id,
    {{ shared_split('services.source_part', {'train': 'train', 'dev': 'validation', 'test': 'test'}) }} as split,

    services.service,
    {{ without_number('services.service', '_[0-9]+') }} as domain,
    services.description,
    cast(files.records_before + services.record_index as integer) as position
from {{ ref('stg_sgd__services') }} as services
inner join files on services.source_file_id = files.source_file_id
