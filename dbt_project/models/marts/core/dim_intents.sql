{{ union_corpora('intents') }}
