{{ pointer_forms('hotline', {
    '/{turn}': ['/turns/{turn}'],
    '/{turn}/span/{span}/0': ['/turns/{turn}/spans/{span}'],
}) }}
