{{ config(meta={"dagster": {"ref": {"name": "row_accounting"}}}) }}

-- Fails if the records of a corpus's files, as landing counted them in the JSON, are not all in the raw Parquet or in
-- quarantine.
with

counted as (
    select
        corpus_id,
        entity as record_entity,
        sum(record_count) as record_count
    from {{ ref('dim_source_files') }}
    group by corpus_id, entity
)

select
    accounting.corpus_id,
    accounting.entity,
    accounting.published,
    accounting.quarantined,
    counted.record_count
from {{ ref('row_accounting') }} as accounting
inner join counted
    on
        accounting.corpus_id = counted.corpus_id
        and accounting.record_entity = counted.record_entity
where accounting.published + accounting.quarantined <> counted.record_count
