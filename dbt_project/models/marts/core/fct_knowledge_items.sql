{{ union_corpora('knowledge_items') }}
