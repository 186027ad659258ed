{#- Classifier examples; the release lists no intents, so their keys have no place of their own. -#}
select
    example_key as traced_key,
    corpus_id,

    source_file_id,
    record_index,
    '/' || cast(record_index as string) as record_pointer,
    '/' || cast(record_index as string) as json_pointer
from {{ ref('int_bbai__classifier_examples') }}
