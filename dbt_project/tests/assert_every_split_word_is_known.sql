-- Fails if a publisher's word for a split is none that its corpus declares (macro `shared_split`); the row says where
-- the word stands. This is NOT about records without a word: they have no split.
{%- set places = {
    'dim_dialogues': 'dialogue_key',
    'fct_classifier_examples': 'example_key',
    'dim_split_members': "source_file_id || '/' || cast(record_index as string)",
    'dim_services': 'service_definition_key',
    'dim_intents': 'intent_key',
    'dim_intent_slots': 'intent_key',
    'dim_slots': 'slot_definition_key',
} %}
{% for table, place in places.items() -%}
select
    corpus_id,
    split,
    {{ place }} as row_key
from {{ ref(table) }}
where split not in ('train', 'validation', 'test')
{% if not loop.last %}
union all

{% endif %}
{%- endfor %}
