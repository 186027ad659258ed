{{ union_corpora('candidate_utterances') }}
