{{ union_corpora('scenario_attributes') }}
