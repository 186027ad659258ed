with

acts as (
    select distinct
        corpus_id,
        split,
        turn_key,
        role,
        act
    from {{ ref('fct_actions') }}
    where act is not null
),

act_turns as (
    select
        corpus_id,
        split,
        role,
        act,
        count(*) as turns
    from acts
    group by corpus_id, split, role, act
),

pairs as (
    select
        acts.corpus_id,
        acts.split,
        acts.role,
        acts.act,
        other_acts.act as other_act,
        count(*) as turns
    from acts
    inner join acts as other_acts
        on
            acts.turn_key = other_acts.turn_key
            and acts.role = other_acts.role
            and acts.act < other_acts.act
    group by acts.corpus_id, acts.split, acts.role, acts.act, other_acts.act
)

select
    pairs.corpus_id,
    pairs.split,
    pairs.role,
    pairs.act,
    pairs.other_act,

    cast(pairs.turns as integer) as turn_count,
    cast(act_turns.turns as integer) as act_turn_count,
    cast(other_act_turns.turns as integer) as other_act_turn_count,
    pairs.turns / cast(act_turns.turns + other_act_turns.turns - pairs.turns as double) as turn_share
from pairs
inner join act_turns
    on
        pairs.corpus_id = act_turns.corpus_id
        and pairs.split is not distinct from act_turns.split
        and pairs.role = act_turns.role
        and pairs.act = act_turns.act
inner join act_turns as other_act_turns
    on
        pairs.corpus_id = other_act_turns.corpus_id
        and pairs.split is not distinct from other_act_turns.split
        and pairs.role = other_act_turns.role
        and pairs.other_act = other_act_turns.act
