{#- The acts of one turn have no order: a corpus lists them in any order. So each act of a turn is followed by each act
    of the next turn that has acts, and the same act of the same role counts once in a turn. -#}
with

turns as (
    select distinct
        corpus_id,
        split,
        dialogue_key,
        turn_index
    from {{ ref('fct_actions') }}
    where act is not null
),

ordered_turns as (
    select
        corpus_id,
        split,
        dialogue_key,
        turn_index,
        lead(turn_index) over in_dialogue as next_turn_index,
        lag(turn_index) over in_dialogue is null as is_first
    from turns
    window in_dialogue as (partition by dialogue_key order by turn_index)
),

acts as (
    select distinct
        dialogue_key,
        turn_index,
        role,
        act
    from {{ ref('fct_actions') }}
    where act is not null
),

transitions as (
    select
        turns.corpus_id,
        turns.split,
        previous_acts.role as previous_role,
        previous_acts.act as previous_act,
        next_acts.role,
        next_acts.act,
        count(*) as times
    from ordered_turns as turns
    inner join acts as previous_acts
        on
            turns.dialogue_key = previous_acts.dialogue_key
            and turns.turn_index = previous_acts.turn_index
    left join acts as next_acts
        on
            turns.dialogue_key = next_acts.dialogue_key
            and turns.next_turn_index = next_acts.turn_index
    group by
        turns.corpus_id, turns.split, previous_acts.role, previous_acts.act, next_acts.role, next_acts.act

    union all

    select
        turns.corpus_id,
        turns.split,
        cast(null as string) as previous_role,
        cast(null as string) as previous_act,
        acts.role,
        acts.act,
        count(*) as times
    from ordered_turns as turns
    inner join acts
        on
            turns.dialogue_key = acts.dialogue_key
            and turns.turn_index = acts.turn_index
    where turns.is_first
    group by turns.corpus_id, turns.split, acts.role, acts.act
),

-- The turns that have an act; for the beginning, the dialogues that have acts.
bases as (
    select
        turns.corpus_id,
        turns.split,
        acts.role as previous_role,
        acts.act as previous_act,
        count(*) as turn_count
    from ordered_turns as turns
    inner join acts
        on
            turns.dialogue_key = acts.dialogue_key
            and turns.turn_index = acts.turn_index
    group by turns.corpus_id, turns.split, acts.role, acts.act

    union all

    select
        corpus_id,
        split,
        cast(null as string) as previous_role,
        cast(null as string) as previous_act,
        count(*) as turn_count
    from ordered_turns
    where is_first
    group by corpus_id, split
)

select
    transitions.corpus_id,
    transitions.split,
    transitions.previous_role,
    transitions.previous_act,
    transitions.role,
    transitions.act,

    cast(transitions.times as integer) as transition_count,
    transitions.times / cast(bases.turn_count as double) as transition_share
from transitions
inner join bases
    on
        transitions.corpus_id = bases.corpus_id
        and transitions.split is not distinct from bases.split
        and transitions.previous_role is not distinct from bases.previous_role
        and transitions.previous_act is not distinct from bases.previous_act
