with

actions as (
    {% for act_group in ['kb_query', 'interaction', 'faq_policy'] -%}
    select
        '{{ act_group }}' as act_group,
        {{ loop.index0 }} as group_position,
        {{ explode_map('actions.' ~ act_group, 'act', 'slots', 'position') }}
    from {{ source('raw_abcd', 'abcd__ontology') }}
    {% if not loop.last %}
    union all

    {% endif %}
    {%- endfor %}
)

select
    act_group,
    act,
    cast(row_number() over (partition by act order by group_position) as integer) as act_occurrence,
    slots,
    position
from actions
