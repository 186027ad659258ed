-- Fails if an entity has a different number of rows in two successive layers, from the raw Parquet to core.
-- This is NOT about defective rows: they are counted like all others and flagged in quality.violations.
select
    corpus_id,
    entity,
    published,
    staged,
    conformed,
    core
from {{ ref('row_accounting') }}
where published <> staged or staged <> conformed or conformed <> core
