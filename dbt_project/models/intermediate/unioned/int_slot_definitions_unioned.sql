{{ union_corpora('slot_definitions', [
    'slot_definition_key',
    'corpus_id',
    'split',
    'service',
    'slot',
    'slot_group',
    'position',
    'description',
    'is_categorical',
    'possible_values',
    'requirement'
]) }}
