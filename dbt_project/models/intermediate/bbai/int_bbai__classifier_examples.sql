select
    'bbai/' || {{ key_segment('examples.source_part') }} || '_classifier/'
        || {{ position_segment('examples.record_index') }} as example_key,
    examples.source_file_id,
    examples.record_index,
    'bbai' as corpus_id,
    {{ shared_split('examples.source_part', {'train': 'train', 'test': 'test'}) }} as split,

    examples.utterance,
    examples.labels,
    dialogues.dialogue_key
from {{ ref('stg_bbai__classifier_examples') }} as examples
left join {{ ref('int_bbai__dialogues') }} as dialogues
    on
        examples.source_part = dialogues.source_part
        and examples.utterance = dialogues.dialogue_id
