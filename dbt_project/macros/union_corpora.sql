{#- The whole of a core model: `int_<corpus>__<entity>` of every corpus that has the entity, stacked, with the columns of
    the model's own contract (`union all by name` would hide a forgotten column as NULL). A model that computes columns
    of its contract beside the stacked ones names them in `computed`.
    A conformed model that declares less or more than these columns is refused. Its declaration is what is compared,
    which costs no plan; that it declares what its SQL gives is held by tests/integration/test_conformed_models.py. -#}
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
