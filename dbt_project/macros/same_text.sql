{#- What is compared of a text: its letters and digits, of any script, in lower case. Two texts of which this is equal are
    the same text, in every rule, table and query; one of which nothing is left is the same as no other. -#}
{% macro same_text(text) -%}
    {%- set letters_and_digits = "chr(92) || 'p{L}' || chr(92) || 'p{N}'" -%}
    {{ regexp_replace_all('lower(' ~ text ~ ')', "'[^' || " ~ letters_and_digits ~ " || ']+'", "''") }}
{%- endmacro %}

{#- Publishes the same as a macro of the database, which opens in any client of DuckDB from 1.5 on, for queries that
    dbt does not write. On other engines nothing is published. -#}
{% macro create_text_macro() -%}
{%- if target.type == 'duckdb' -%}
create or replace macro core.same_text(text) as ({{ same_text('text') }});
comment on macro core.same_text is 'The letters and digits of a text, of any script, in lower case: texts of which these are equal are the same text.';
{%- endif -%}
{%- endmacro %}
