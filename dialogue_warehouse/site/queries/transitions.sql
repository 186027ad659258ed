with

pairs as (
    select
        corpus_id,
        case when roles > 1 then concat_ws(' ', previous_role, previous_act) else previous_act end as label,
        case when roles > 1 then concat_ws(' ', role, act) else act end as series,
        sum(transition_count) as transitions
    from (
        select
            *,
            count(distinct role) over (partition by corpus_id) as roles
        from analytics.act_transitions
        where previous_act is not null and act is not null
    )
    group by all
),

placed as (
    select
        *,
        transitions / sum(transitions) over (partition by corpus_id, label) as value,
        sum(transitions) over (partition by corpus_id, label) as of_label,
        sum(transitions) over (partition by corpus_id, series) as of_series
    from pairs
)

select
    corpus_id,
    label,
    series,
    value,
    dense_rank() over (partition by corpus_id order by of_label desc, label) as label_place,
    dense_rank() over (partition by corpus_id order by of_series desc, series) as place
from placed
qualify label_place <= 10 and place <= 10
order by corpus_id, label_place, place
