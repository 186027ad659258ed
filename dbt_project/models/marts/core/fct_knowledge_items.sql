select
    knowledge_key,
    dialogue_key,
    corpus_id,
    split,
    agent,
    item_index,
    attribute_index,
    attribute,
    value,
    is_shared
from {{ ref('int_knowledge_items_unioned') }}
