{#- Stack `int_<corpus>__<entity>` of every corpus that has the entity, with an explicit column list: `union all by
    name` would hide a forgotten column as NULL. -#}
{% macro union_corpora(entity, columns) -%}
    {%- set having = [] -%}
    {%- for corpus, entities in var('corpora').items() if entity in entities -%}
        {%- do having.append(corpus) -%}
    {%- endfor -%}
    {%- if not having -%}
        {{ exceptions.raise_compiler_error("union_corpora: no corpus has '" ~ entity ~ "'; see vars.corpora") }}
    {%- endif -%}
    {%- for corpus in having %}
select
    {{ columns | join(',\n    ') }}
from {{ ref('int_' ~ corpus ~ '__' ~ entity) }}
{% if not loop.last %}
union all
{% endif %}
    {%- endfor -%}
{%- endmacro %}
