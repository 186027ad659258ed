{#- The place of a segment without a label is the segment itself. -#}
{{ pointer_forms('taskmaster1', {
    '/{turn}': ['/utterances/{turn}'],
    '/{turn}/span/{segment}/{annotation}': ['/utterances/{turn}/segments/{segment}/annotations/{annotation}'],
    '/{turn}/span/{segment}/-': ['/utterances/{turn}/segments/{segment}'],
}) }}
