{{ pointer_forms('mutualfriends', {
    '/{turn}': ['/events/{turn}'],
    '/{turn}/action/{action}': ['/events/{turn}/data'],
    '/{turn}/selection/{attribute}': ['/events/{turn}/data/{attribute}'],
    '/item/{agent}/{item}/{attribute}': ['/scenario/kbs/{agent}/{item}/{attribute}'],
}) }}
