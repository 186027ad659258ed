{#- The release does not list its acts; these are the kinds of events that carry a division. -#}
{{ config(meta={'lacks': ['act_group', 'position', 'description']}) }}

select distinct
    'bargain' as corpus_id,
    event_kind as act,
    1 as act_occurrence,
    'selection' as action_type
from {{ ref('stg_bargain__events') }}
where takes is not null
