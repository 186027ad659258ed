{#- The whole of a core model: `int_<corpus>__<entity>` of every corpus that has the entity, stacked, with the
    columns of the model's own contract (`union all by name` would hide a forgotten column as NULL). A model that
    computes some columns of its contract itself names them in `computed`.
    Raise if a conformed model declares fewer or more columns than these. Only its declaration is compared, which needs
    no query plan; tests/integration/test_conformed_models.py checks that the SQL returns the declared columns. -#}
{% macro union_corpora(entity, computed=[]) -%}
    {%- set wanted = model.columns.keys() | reject('in', computed) | list -%}
    {%- set having = [] -%}
    {%- for corpus, entities in var('corpora').items() if entity in entities -%}
        {%- do having.append(corpus) -%}
    {%- endfor -%}
    {%- if not having -%}
        {{ exceptions.raise_compiler_error("union_corpora: no corpus has '" ~ entity ~ "'; see vars.corpora") }}
    {%- endif -%}
    {%- for corpus in having -%}
    {%- set name = 'int_' ~ corpus ~ '__' ~ entity -%}
    {%- set conformed = ref(name) -%}
    {%- if execute -%}
        {{ refuse_other_columns(corpus, name, wanted) }}
    {%- endif %}
select
    {{ wanted | join(',\n    ') }}
from {{ conformed }}
{% if not loop.last %}
union all
{% endif %}
    {%- endfor -%}
{%- endmacro %}

{#- Raise unless the conformed model `name` declares exactly the `wanted` columns. -#}
{% macro refuse_other_columns(corpus, name, wanted) -%}
    {%- set declared = graph.nodes['model.' ~ project_name ~ '.' ~ name].columns.keys() | list -%}
    {%- set lacking, more = wanted | reject('in', declared) | list, declared | reject('in', wanted) | list -%}
    {%- for columns, verb in [(lacking, 'lacks'), (more, 'has')] if columns -%}
        {{ exceptions.raise_compiler_error(
            corpus ~ ": " ~ name ~ " " ~ verb ~ " " ~ columns | join(", ") ~ ", which " ~ model.name
                ~ (" has" if verb == 'lacks' else " has not")
        ) }}
    {%- endfor -%}
{%- endmacro %}
