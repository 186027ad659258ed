{{ pointer_forms('bargain', {
    '/{turn}': ['/events/{turn}'],
    '/{turn}/action/{action}': ['/events/{turn}/takes'],
    '/{turn}/selection/{item}': ['/events/{turn}/takes/{item}'],
    '/item/{agent}/{item}/{attribute}': ['/people/{agent}/items/{item}/{attribute}'],
}) }}
