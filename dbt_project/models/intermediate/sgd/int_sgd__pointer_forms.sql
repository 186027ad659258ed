{#- The canonical form of a value is in a separate list beside it. A state slot with an empty list points to that
    list. -#}
{%- set frame = '/turns/{turn}/frames/{frame}' -%}
{{ pointer_forms('sgd', {
    '/{turn}': ['/turns/{turn}'],
    '/{turn}/frame/{frame}': [frame],
    '/{turn}/frame/{frame}/action/{action}': [frame ~ '/actions/{action}'],
    '/{turn}/frame/{frame}/span/{span}/{annotation}': [frame ~ '/slots/{span}'],
    '/{turn}/frame/{frame}/state/{slot}/{variant}': [frame ~ '/state/slot_values/{slot}/{variant}'],
    '/{turn}/frame/{frame}/state/{slot}/-': [frame ~ '/state/slot_values/{slot}'],
    '/{turn}/frame/{frame}/action_value/{action}/{value}': [
        frame ~ '/actions/{action}/values/{value}',
        frame ~ '/actions/{action}/canonical_values/{value}',
    ],
    '/{turn}/frame/{frame}/call': [frame ~ '/service_call'],
    '/{turn}/frame/{frame}/call_parameter/{slot}': [frame ~ '/service_call/parameters/{slot}'],
    '/{turn}/frame/{frame}/result/{result}': [frame ~ '/service_results/{result}'],
}) }}
