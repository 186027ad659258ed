{#- Classifier examples. The release lists no intents, so the keys of intents have no place in a file. -#}
select
    example_key as traced_key,
    corpus_id,

    source_file_id,
    record_index,
    '/' || cast(record_index as string) as record_pointer,
    '/' || cast(record_index as string) as json_pointer
from {{ ref('int_bbai__classifier_examples') }}
