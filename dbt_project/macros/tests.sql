{#- Fails if a row breaks a declaration in its table's YAML, and says how. One query checks a table, because a node of
    dbt costs more than the checks. This is NOT about NULL: the contract says which columns must have a value.
      keys        columns that are unique; a list of columns is unique together, with NULL counted as a value
      references  `columns` that must exist in a row of `to` (there named `fields`, if given), unless one is NULL
    In addition, every column in `vars.vocabularies` must have one of its allowed values, or NULL. -#}
{% test sound_rows(model, keys, references=[]) %}
{%- set identity = joined_columns(columns_of_key(keys[0])) -%}
{%- set words = known_words(model.identifier) -%}
{%- for key in keys %}
{%- set columns = columns_of_key(key) %}
select
    'repeated key' as broken,
    '{{ columns | join(", ") }}' as column_name,
    {{ joined_columns(columns) }} as value,
    min({{ identity }}) as first_row,
    count(*) as row_count
from {{ model }}
group by {{ columns | join(', ') }}
having count(*) > 1
{%- if not loop.last %}
union all
{%- endif %}
{%- endfor %}
{%- for reference in references %}
{%- set fields = reference.fields or reference.columns %}
union all
select
    'no such row in {{ reference.to.identifier }}' as broken,
    '{{ reference.columns | join(", ") }}' as column_name,
    {{ joined_columns(reference.columns, 'child.') }} as value,
    min({{ joined_columns(columns_of_key(keys[0]), 'child.') }}) as first_row,
    count(*) as row_count
from {{ model }} as child
left join {{ reference.to }} as parent
    on
        {% for column in reference.columns -%}
        child.{{ column }} = parent.{{ fields[loop.index0] }}
        {%- if not loop.last %}
        and {% endif %}
        {%- endfor %}
where
    parent.{{ fields[0] }} is null
    {%- for column in reference.columns %}
    and child.{{ column }} is not null
    {%- endfor %}
group by child.{{ reference.columns | join(', child.') }}
{%- endfor %}
{%- if words %}
union all
select
    'unknown word' as broken,
    column_name,
    value,
    min(first_row) as first_row,
    count(*) as row_count
from (
    select
        {{ identity }} as first_row,
        case
            {%- for column, known in words.items() %}
            when {{ column }} not in ({{ known }}) then '{{ column }}'
            {%- endfor %}
        end as column_name,
        case
            {%- for column, known in words.items() %}
            when {{ column }} not in ({{ known }}) then {{ column }}
            {%- endfor %}
        end as value
    from {{ model }}
    where
        {% for column, known in words.items() -%}
        {{ column }} not in ({{ known }})
        {%- if not loop.last %}
        or {% endif %}
        {%- endfor %}
) as unknown_words
group by column_name, value
{%- endif %}
{% endtest %}

{#- The columns of a key, which is declared as a column or a list of them. -#}
{% macro columns_of_key(key) %}
    {{ return([key] if key is string else key) }}
{% endmacro %}

{#- The values of these columns as one text. -#}
{% macro joined_columns(columns, table='') -%}
    {%- set texts = [] -%}
    {%- for column in columns -%}
        {%- set text = 'cast(' ~ table ~ column ~ ' as string)' -%}
        {%- do texts.append(text if columns | length == 1 else 'coalesce(' ~ text ~ ", 'NULL')") -%}
    {%- endfor -%}
    {{ texts | join(" || ', ' || ") }}
{%- endmacro %}

{#- Maps each column with a vocabulary, in a table's contract, to its allowed values as SQL. A vocabulary named
    `<table>.<column>` takes precedence over one named after the column alone. -#}
{% macro known_words(table) %}
    {%- set words = {} -%}
    {%- if execute -%}
        {%- set vocabularies = var('vocabularies') -%}
        {%- for column in graph.nodes['model.' ~ project_name ~ '.' ~ table].columns -%}
            {%- set known = vocabularies.get(table ~ '.' ~ column, vocabularies.get(column)) -%}
            {%- if known -%}
                {%- do words.update({column: "'" ~ known | join("', '") ~ "'"}) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
    {{ return(words) }}
{% endmacro %}
