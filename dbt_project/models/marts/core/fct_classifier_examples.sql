{{ union_corpora('classifier_examples') }}
