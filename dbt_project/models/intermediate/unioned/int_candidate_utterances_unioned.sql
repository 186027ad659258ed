{{ union_corpora('candidate_utterances', [
    'corpus_id',
    'candidate_id',
    'utterance'
]) }}
