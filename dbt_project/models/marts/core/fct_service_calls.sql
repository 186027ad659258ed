{{ union_corpora('service_calls') }}
