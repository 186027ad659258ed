{#- A table on Spark: a folder of Parquet files in the folder of its schema, partitioned by corpus if it has that
    column.
    The contract is compared with the columns that Spark reports after writing; dbt's own check would plan each query
    twice more. NOT NULL and comments are added when the single DuckDB file is made from the folders (see `made_of` in
    `materializations`).
    What is NOT here, because no model has any: grants, indexes, Python models, incremental tables. -#}
{% materialization table, adapter='spark', supported_languages=['sql'] %}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set contract = config.get('contract') -%}
    {{ run_hooks(pre_hooks) }}
    {%- call statement('main') -%}
        create table {{ target_relation }}
        using parquet
        {{ "partitioned by (corpus_id)" if contract.enforced and 'corpus_id' in model.columns }}
        as
        {{ compiled_code }}
    {%- endcall -%}
    {%- if contract.enforced -%}
        {{ refuse_other_types_on_spark(target_relation) }}
    {%- endif -%}
    {{ run_hooks(post_hooks) }}
    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}

{#- Raise unless a table has the columns of the model's contract with their types. -#}
{% macro refuse_other_types_on_spark(relation) -%}
    {%- set wanted, given = [], [] -%}
    {%- for column in model.columns.values() -%}
        {%- do wanted.append(column.name ~ ' ' ~ spark_type(column.data_type)) -%}
    {%- endfor -%}
    {%- for row in run_query('describe table ' ~ relation) if row[0] and not row[0].startswith('#') -%}
        {%- do given.append(row[0] ~ ' ' ~ row[1]) -%}
    {%- endfor -%}
    {%- set lacking, more = wanted | reject('in', given) | list, given | reject('in', wanted) | list -%}
    {%- if lacking or more -%}
        {{ exceptions.raise_compiler_error(
            "This model has an enforced contract that failed: Spark gives " ~ (more | join(", ") or "nothing")
                ~ " where the contract has " ~ (lacking | join(", ") or "nothing")
        ) }}
    {%- endif -%}
{%- endmacro %}
