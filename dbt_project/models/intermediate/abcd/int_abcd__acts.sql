{#- The buttons of the ontology, and every button pressed that the ontology does not list. -#}
{{ config(meta={'lacks': ['description']}) }}

with

seen as (
    select distinct act
    from {{ ref('stg_abcd__delexed_turns') }}
    where act is not null
)

select
    'abcd' as corpus_id,
    coalesce(actions.act, seen.act) as act,
    coalesce(actions.act_occurrence, 1) as act_occurrence,
    actions.act_group,
    'button' as action_type,
    actions.position
from {{ ref('stg_abcd__actions') }} as actions
full outer join seen
    on actions.act = seen.act
