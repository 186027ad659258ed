with

generated as (
    select
        corpus_id,
        max(case when verification = 'simulated' then 1 else 0 end) = 1 as is_generated
    from {{ ref('stg_landing__source_files') }}
    group by corpus_id
)

select
    corpora.corpus_id,
    corpora.title,
    corpora.homepage,
    corpora.license,
    corpora.citation,
    corpora.release,
    coalesce(generated.is_generated, false) as is_generated,
    corpora.text_kind,
    corpora.goal_kind,
    corpora.annotator_count,
    corpora.voter_count,
    corpora.carried_from,
    corpora.carried_because
from {{ ref('stg_landing__corpora') }} as corpora
left join generated
    on corpora.corpus_id = generated.corpus_id
