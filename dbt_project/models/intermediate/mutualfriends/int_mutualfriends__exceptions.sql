{#- Lists and items that are published empty and would have no rows in core; they have rows here. A knowledge base
    with only empty items has no rows in core either: its list has a row here, and so has each of its items. -#}
with

item_counts as (
    select
        source_file_id,
        record_index,
        agent,
        sum(attribute_count) as attribute_count
    from {{ ref('stg_mutualfriends__items') }}
    group by source_file_id, record_index, agent
)

select
    knowledge_bases.source_file_id,
    'mutualfriends' as corpus_id,
    knowledge_bases.record_pointer || '/scenario/kbs/' || cast(knowledge_bases.agent as string) as json_pointer,
    'empty_list' as form
from {{ ref('stg_mutualfriends__knowledge_bases') }} as knowledge_bases
left join item_counts
    on
        knowledge_bases.source_file_id = item_counts.source_file_id
        and knowledge_bases.record_index = item_counts.record_index
        and cast(knowledge_bases.agent as string) = item_counts.agent
where coalesce(item_counts.attribute_count, 0) = 0

union all

select
    source_file_id,
    'mutualfriends' as corpus_id,
    record_pointer || '/scenario/kbs/' || agent || '/' || cast(item_index as string) as json_pointer,
    'empty_object' as form
from {{ ref('stg_mutualfriends__items') }}
where attribute_count = 0
