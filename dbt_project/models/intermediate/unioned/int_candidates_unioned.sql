{{ union_corpora('candidates', [
    'candidates_key',
    'turn_key',
    'dialogue_key',
    'corpus_id',
    'split',
    'turn_index',
    'candidate_ids',
    'target_position'
]) }}
