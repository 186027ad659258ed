select {{ explode_indexed('intents.flows', 'flow', 'position') }}
from {{ source('raw_abcd', 'abcd__ontology') }}
