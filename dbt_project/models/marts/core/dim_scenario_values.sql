{{ union_corpora('scenario_values') }}
