{#- The question is the key of its record, so the place of the turn is the record. -#}
{{ pointer_forms('bbai', {
    '/{turn}': [''],
    '/vote/{option}': ['/human_vote/{option}'],
    '/response/{agent}': ['/{agent}'],
}) }}
