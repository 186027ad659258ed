{#- The question is the key of its record: the turn is the record. -#}
{{ pointer_forms('bbai', {
    '/{turn}': [''],
    '/vote/{option}': ['/human_vote/{option}'],
    '/response/{agent}': ['/{agent}'],
}) }}
