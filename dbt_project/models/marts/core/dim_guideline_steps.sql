{{ union_corpora('guideline_steps') }}
