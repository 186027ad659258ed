{% for act_group in ['kb_query', 'interaction', 'faq_policy'] -%}
select
    '{{ act_group }}' as act_group,
    {{ explode_map('actions.' ~ act_group, 'act', 'slots', 'position') }}
from {{ source('raw_abcd', 'abcd__ontology') }}
{% if not loop.last %}
union all

{% endif %}
{%- endfor %}
