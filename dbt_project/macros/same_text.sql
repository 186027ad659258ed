{#- The form of a text that is compared: its letters and digits, of any script, in lower case. Two texts with the
    same form are the same text, in every rule, table and query. A text whose form is empty is not the same as any
    other text. -#}
{% macro same_text(text) -%}
    {%- set letters_and_digits = "chr(92) || 'p{L}' || chr(92) || 'p{N}'" -%}
    {{ regexp_replace_all(lower_case(text), "'[^' || " ~ letters_and_digits ~ " || ']+'", "''") }}
{%- endmacro %}

{#- Publishes the same comparison as a macro of the database, for queries that are not written in dbt. It works in
    any client of DuckDB from 1.5 on. On other engines nothing is published. -#}
{% macro create_text_macro() -%}
{%- if target.type == 'duckdb' -%}
create or replace macro core.same_text(text) as ({{ same_text('text') }});
comment on macro core.same_text is 'The letters and digits of a text, of any script, in lower case. Two texts with the same result count as the same text.';
{%- endif -%}
{%- endmacro %}
