select
    example_key,
    source_file_id,
    record_index,
    corpus_id,
    split,
    utterance,
    labels,
    dialogue_key
from {{ ref('int_classifier_examples_unioned') }}
