{#- A table on DuckDB, in one round trip. dbt's own materialization is made for a database with concurrent readers:
    it looks for an existing table, builds under another name, renames, drops, queries the columns twice and adds
    comments last. These are a dozen statements per table and half of the time of a small build. Here the database
    has no readers before it is published, so there is no transaction either: if a table fails, its remains are
    deleted with the build.
    If another engine has made the table, its configuration has `made_of`, a list of files. They are read instead of
    running the query, and the contract is still checked.
    The models of a dbt package get dbt's own materialization, which has all that they may need.
    What is NOT here, because no model has any: grants, indexes, Python models. -#}
{% materialization table, adapter='duckdb', supported_languages=['sql', 'python'] %}
    {%- if model.package_name != project_name -%}
        {{ return(dbt.materialization_table_duckdb()) }}
    {%- endif -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set contract = config.get('contract') -%}
    {%- set made_of = config.get('made_of') -%}
    {%- set query = select_from_files(made_of) if made_of else compiled_code -%}
    {{ run_hooks(pre_hooks, inside_transaction=False) }}
    {{ run_hooks(pre_hooks, inside_transaction=True) }}

    {%- if contract.enforced -%}
        {{ refuse_other_types(query) }}
    {%- endif -%}
    {%- call statement('main', fetch_result=contract.enforced, auto_begin=False) -%}
        {%- if contract.enforced -%}
            create or replace table {{ target_relation }} {{ columns_of_contract() }};
            {{ comments_on(target_relation) }}
            insert into {{ target_relation }} {{ get_select_subquery(query) }};
        {%- else -%}
            create or replace table {{ target_relation }} as (
{{ query }}
            );
            {{ comments_on(target_relation) }}
        {%- endif -%}
    {%- endcall -%}
    {%- if contract.enforced -%} {#- the result of the last statement is the number of its rows -#}
        {%- do store_raw_result('main', message='OK', code=none, rows_affected=load_result('main')['data'][0][0]) -%}
    {%- endif -%}

    {{ run_hooks(post_hooks, inside_transaction=True) }}
    {%- if (pre_hooks + post_hooks) | selectattr('transaction') | list -%} {#- only these begin a transaction -#}
        {{ adapter.commit() }}
    {%- endif -%}
    {{ run_hooks(post_hooks, inside_transaction=False) }}
    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}

{#- The columns of the model's contract with their constraints, as dbt writes them. The first column of a fact table
    is its own unique key. DuckDB's default dictionary compression of text does not help for unique values, nor for
    columns that the model's configuration lists in `hardly_repeated`. With those columns compressed as text, the
    published file of scale 1 has 199.5 MiB instead of 256.2. They are written in less time, and counting and
    lookups take about the same time. -#}
{% macro columns_of_contract() -%}
    {%- set own_key = 1 if model.name.startswith('fct_') else 0 -%}
    {%- set as_text = (model.columns.keys() | list)[:own_key] + config.get('hardly_repeated', []) -%}
    (
    {%- for column in adapter.render_raw_columns_constraints(raw_columns=model.columns) %}
        {{ column }}{{ ' using compression zstd' if column.split(' ')[0] in as_text }}{{ ',' if not loop.last }}
    {%- endfor %}
    )
{%- endmacro %}

{#- The columns of the model's contract from Parquet files, ordered by the first column, which is the key of most
    tables. If the table has no rows, there may be no file. -#}
{% macro select_from_files(files) -%}
    {%- set names = [] -%}
    {%- for column in model.columns.values() -%}
        {%- do names.append(column.name if files != 'none' else 'cast(null as ' ~ column.data_type ~ ') as ' ~ column.name) -%}
    {%- endfor -%}
    select {{ names | join(', ') }}
    {% if files == 'none' -%}
    where false
    {%- else -%}
    from read_parquet(
        '{{ files | replace("'", "''") }}', hive_partitioning=true, hive_types_autocast=false
    )
    order by 1
    {%- endif -%}
{%- endmacro %}

{#- Raise unless `sql` returns the columns of the model's contract with their types. dbt's own check runs only if
    there is a difference, to report it: it plans the query again, and a second query of typed nulls. -#}
{% macro refuse_other_types(sql) -%}
    {%- set wanted, given = [], [] -%}
    {%- for column in model.columns.values() -%}
        {%- do wanted.append(column.name ~ ' ' ~ column.data_type | upper) -%}
    {%- endfor -%}
    {%- for column in adapter.get_column_schema_from_query(sql ~ '\n') -%} {#- the SQL may end in a comment -#}
        {%- do given.append(column.name ~ ' ' ~ column.dtype | upper) -%}
    {%- endfor -%}
    {%- if wanted | sort != given | sort -%}
        {{ get_assert_columns_equivalent(sql) }}
    {%- endif -%}
{%- endmacro %}

{#- The statements that store the model's descriptions in the database, if its configuration requests it. -#}
{% macro comments_on(relation) -%}
    {%- if config.persist_relation_docs() and model.description %}
comment on table {{ relation }} is '{{ model.description | replace("'", "''") }}';
    {%- endif -%}
    {%- if config.persist_column_docs() -%}
    {%- for column in model.columns.values() if column.description %}
comment on column {{ relation }}.{{ column.name }} is '{{ column.description | replace("'", "''") }}';
    {%- endfor -%}
    {%- endif -%}
{%- endmacro %}

{#- A test on DuckDB without a transaction, because it only reads. The tests of a dbt package get dbt's own
    materialization. What is NOT here: storing the rows that fail. -#}
{% materialization test, adapter='duckdb' %}
    {%- if model.package_name != project_name -%}
        {{ return(dbt.materialization_test_default()) }}
    {%- endif -%}
    {%- call statement('main', fetch_result=True, auto_begin=False) -%}
        {{ get_test_sql(sql, config.get('fail_calc'), config.get('warn_if'), config.get('error_if'), config.get('limit')) }}
    {%- endcall -%}
    {{ return({'relations': []}) }}
{% endmaterialization %}
