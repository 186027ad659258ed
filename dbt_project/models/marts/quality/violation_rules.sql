{{ config(tags=['audit']) }}

with

cases as (
    select
        rule_id,
        corpus_id,
        count(*) as case_count
    from {{ ref('violations') }}
    group by rule_id, corpus_id
),

totals as (
    select
        rule_id,
        sum(case_count) as case_count
    from cases
    group by rule_id
)

select
    rules.rule_id,
    rules.corpus_id,
    rules.title,
    rules.description,
    rules.upstream_reference,
    rules.files,
    rules.expected,
    rules.observed_in_files,
    cast(
        coalesce(case when rules.corpus_id is null then totals.case_count else cases.case_count end, 0) as integer
    ) as observed,
    rules.is_guarded,
    rules.why
from {{ source('audit', 'violation_rules') }} as rules
left join cases
    on
        rules.rule_id = cases.rule_id
        and rules.corpus_id = cases.corpus_id
left join totals
    on rules.rule_id = totals.rule_id
