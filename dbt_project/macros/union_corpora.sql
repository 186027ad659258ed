{#- The whole of a core model: `int_<corpus>__<entity>` of every corpus that has the entity, stacked, with the
    columns of the model's own contract. A conformed model names the columns that its corpus lacks in its `meta`, as
    `lacks`; they are NULL here. Every other column must be in its SQL (`union all by name` would hide a forgotten
    column as NULL). A model that computes some columns of its contract itself names them in `computed`.
    An entity in `vars.staged` has no conformed model: its staging model is stacked, with the name of the corpus.
    Corpora without files in this build have no rows, and are left out.
    Raise if `lacks` has a column that the contract does not have. tests/integration/test_conformed_models.py checks
    that the SQL returns no other columns than these. -#}
{% macro union_corpora(entity, computed=[]) -%}
    {%- set wanted = model.columns.keys() | reject('in', computed) | list -%}
    {%- set having, every = corpora_with(entity), corpora_with(entity, built=none) -%}
    {%- if not every -%}
        {{ exceptions.raise_compiler_error("union_corpora: no corpus has '" ~ entity ~ "'; see vars.corpora") }}
    {%- endif -%}
    {%- if having != every -%}
    {#- The types of the columns: a conformed model may select NULL without a type where another corpus has a value. #}
select
    {%- for column in wanted %}
    {{ null_as(model.columns[column].data_type) }} as {{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
where false
{{ 'union all' if having }}
    {%- endif -%}
    {%- for corpus in having -%}
    {%- set is_staged = entity in var('staged').get(corpus, []) -%}
    {%- set name = ('stg_' if is_staged else 'int_') ~ corpus ~ '__' ~ entity -%}
    {%- set conformed = ref(name) -%}
    {%- set lacking = columns_lacked_by(corpus, name, wanted) if execute else [] %}
select
    {%- for column in wanted %}
    {{ null_as(model.columns[column].data_type) ~ ' as ' if column in lacking -}}
    {{ "'" ~ corpus ~ "' as " if is_staged and column == 'corpus_id' }}{{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ conformed }}
{% if not loop.last %}
union all
{% endif %}
    {%- endfor -%}
{%- endmacro %}

{#- The columns that the conformed model `name` lacks, as it declares them; raise if one of them is not `wanted`. -#}
{% macro columns_lacked_by(corpus, name, wanted) -%}
    {%- set lacking = graph.nodes['model.' ~ project_name ~ '.' ~ name].config.meta.get('lacks', []) -%}
    {%- set unknown = lacking | reject('in', wanted) | list -%}
    {%- if unknown -%}
        {{ exceptions.raise_compiler_error(
            corpus ~ ": " ~ name ~ " says that it lacks " ~ unknown | join(", ") ~ ", which " ~ model.name
                ~ " does not have"
        ) }}
    {%- endif -%}
    {{ return(lacking) }}
{%- endmacro %}

{#- The corpora with this entity, in the order of `vars.corpora`: those of `built`, by default the corpora with files in
    this build; none: all. -#}
{% macro corpora_with(entity, built=var('built')) -%}
    {%- set having = [] -%}
    {%- for corpus, entities in var('corpora').items() if entity in entities -%}
        {%- do having.append(corpus) -%}
    {%- endfor -%}
    {{ return(having if built is none else having | select('in', built) | list) }}
{%- endmacro %}
