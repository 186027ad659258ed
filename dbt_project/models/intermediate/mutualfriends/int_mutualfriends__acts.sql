{#- The release has one action, select. Any other event that carries an item is listed under its own name. No rows
    if the corpus is not built. -#}
{{ config(meta={'lacks': ['act_group']}) }}

with

documented as (
    select
        'select' as act,
        0 as position,
        'Choose an item of one''s own list as the shared friend.' as description
),

seen as (
    select distinct event_action as act
    from {{ ref('stg_mutualfriends__events') }}
    where selected_item is not null
)

select
    corpora.corpus_id,
    coalesce(documented.act, seen.act) as act,
    1 as act_occurrence,
    'selection' as action_type,
    documented.position,
    documented.description
from documented
full outer join seen
    on documented.act = seen.act
inner join {{ ref('stg_landing__corpora') }} as corpora
    on corpora.corpus_id = 'mutualfriends'
