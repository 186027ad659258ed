{% for attribute, text, number in [
    ('name', 'item_name', 'cast(null as integer)'),
    ('count', 'cast(item_count as string)', 'item_count'),
    ('points', 'cast(points as string)', 'points'),
] -%}
select
    source_file_id,
    record_index,
    agent,
    item_index,

    {{ loop.index0 }} as attribute_index,
    '{{ attribute }}' as attribute,
    {{ text }} as value,
    {{ number }} as integer_value
from {{ ref('stg_bargain__items') }}
{% if not loop.last %}
union all

{% endif %}
{%- endfor %}
