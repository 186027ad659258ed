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
    rules.kind,
    rules.title,
    rules.description,
    rules.upstream_reference,
    case when cardinality(rules.files) > 0 then {{ list_join('rules.files', "', '") }} end as files,
    rules.expected,
    guards.observed_in_files,
    cast(
        coalesce(case when rules.corpus_id is null then totals.case_count else cases.case_count end, 0) as integer
    ) as observed,
    guards.is_guarded,
    rules.cases_read,
    rules.cases_right,
    rules.cases_right_again,
    rules.cases_agreed,
    rules.why
from {{ ref('stg_landing__rules') }} as rules
left join {{ source('audit', 'violation_rules') }} as guards
    on
        rules.rule_id = guards.rule_id
        and coalesce(rules.corpus_id, '') = coalesce(guards.corpus_id, '')
left join cases
    on
        rules.rule_id = cases.rule_id
        and rules.corpus_id = cases.corpus_id
left join totals
    on rules.rule_id = totals.rule_id
