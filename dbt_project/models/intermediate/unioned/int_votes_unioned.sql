{{ union_corpora('votes', [
    'vote_key',
    'dialogue_key',
    'corpus_id',
    'split',
    'voted_for',
    'agent_id',
    'votes',
    'is_selected',
    'gold_position'
]) }}
