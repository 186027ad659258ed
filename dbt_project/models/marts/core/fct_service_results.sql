{{ union_corpora('service_results') }}
