{{ pointer_forms('hotline', {'/{turn}': ['/turns/{turn}']}) }}
