{%- set lists = {
    'token': 'vocabulary.tokens', 'special_token': 'vocabulary.special', 'next_step': 'next_steps'
} %}

{% for kind, list in lists.items() -%}
select
    '{{ kind }}' as kind,
    {{ explode_indexed(list, 'term', 'position') }}
from {{ source('raw_abcd', 'abcd__ontology') }}
{% if not loop.last %}
union all

{% endif %}
{%- endfor %}
