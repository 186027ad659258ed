{{ union_corpora('dialogue_services') }}
