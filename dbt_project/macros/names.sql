{#- Schemas have the names that the models give. On Spark, where other users may have a schema of the same name,
    dbt's prefix is kept. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {%- set name = (custom_schema_name or target.schema) | trim -%}
    {{ name if target.type == 'duckdb' or not custom_schema_name else target.schema ~ '_' ~ name }}
{%- endmacro %}
