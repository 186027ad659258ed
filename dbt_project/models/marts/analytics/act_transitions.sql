with

acts as (
    select
        corpus_id,
        split,
        role,
        act,
        lag(act) over in_dialogue as previous_act,
        lag(role) over in_dialogue as previous_role
    from {{ ref('fct_actions') }}
    where act is not null
    window in_dialogue as (partition by dialogue_key order by turn_index, frame_index, action_index)
),

pairs as (
    select
        corpus_id,
        split,
        previous_role,
        previous_act,
        role,
        act,
        count(*) as times
    from acts
    group by corpus_id, split, previous_role, previous_act, role, act
),

-- If an act occurs more often than another act follows it, the difference is the number of dialogues that end with it.
ends as (
    select
        corpus_id,
        split,
        role,
        act,
        sum(times) as times
    from (
        select
            corpus_id,
            split,
            role,
            act,
            times
        from pairs
        union all
        select
            corpus_id,
            split,
            previous_role as role,
            previous_act as act,
            -times as times
        from pairs
        where previous_act is not null
    ) as steps
    group by corpus_id, split, role, act
    having sum(times) > 0
),

transitions as (
    select * from pairs
    union all
    select
        corpus_id,
        split,
        role as previous_role,
        act as previous_act,
        cast(null as string) as role,
        cast(null as string) as act,
        times
    from ends
)

select
    corpus_id,
    split,
    previous_role,
    previous_act,
    role,
    act,

    cast(times as integer) as transition_count,
    times / cast(sum(times) over (partition by corpus_id, split, previous_role, previous_act) as double)
        as transition_share
from transitions
