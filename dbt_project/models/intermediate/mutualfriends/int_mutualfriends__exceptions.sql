{#- Lists and items that are published empty and would leave no trace in core: they have rows here. -#}
select
    source_file_id,
    'mutualfriends' as corpus_id,
    record_pointer || '/scenario/kbs/' || cast(agent as string) as json_pointer,
    'empty_list' as form
from {{ ref('stg_mutualfriends__knowledge_bases') }}
where item_count = 0

union all

select
    source_file_id,
    'mutualfriends' as corpus_id,
    record_pointer || '/scenario/kbs/' || agent || '/' || cast(item_index as string) as json_pointer,
    'empty_object' as form
from {{ ref('stg_mutualfriends__items') }}
where attribute_count = 0
