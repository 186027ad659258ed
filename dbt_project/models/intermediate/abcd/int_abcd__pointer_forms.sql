{#- A turn occurs twice in its record: delexicalized with its targets, and as it was typed. -#}
{{ pointer_forms('abcd', {
    '/{turn}': ['/delexed/{turn}', '/original/{turn}'],
    '/{turn}/action/{action}': ['/delexed/{turn}/targets/2'],
    '/{turn}/action_value/{action}/{value}': ['/delexed/{turn}/targets/3/{value}'],
    '/{turn}/candidates': ['/delexed/{turn}/candidates'],
}) }}
