{#- A table on DuckDB, in one round trip. dbt's own way is made for a database that others read meanwhile: it looks for what
    stands there, builds under another name, renames, drops, asks for the columns twice and comments last, a dozen
    statements a table, half of the time of a small build. Here nobody reads the database before it is published, so there
    is no transaction either: what a table that fails leaves behind is thrown away with the build.
    Where another engine has made the table, its configuration has `made_of`, the files: they are read in its place, and
    the contract is held all the same.
    What is NOT here, because no model has any: grants, indexes, Python models. -#}
{% materialization table, adapter='duckdb', supported_languages=['sql'] %}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set contract = config.get('contract') -%}
    {%- set made_of = config.get('made_of') -%}
    {%- set query = select_from_files(made_of) if made_of else compiled_code -%}
    {{ run_hooks(pre_hooks, inside_transaction=False) }}
    {{ run_hooks(pre_hooks, inside_transaction=True) }}

    {%- if contract.enforced -%}
        {{ refuse_other_types(query) }}
    {%- endif -%}
    {%- call statement('main', auto_begin=False) -%}
        {%- if contract.enforced -%}
            create or replace table {{ target_relation }} {{ columns_of_contract() }};
            insert into {{ target_relation }} {{ get_select_subquery(query) }};
        {%- else -%}
            create or replace table {{ target_relation }} as (
{{ query }}
            );
        {%- endif -%}
        {{ comments_on(target_relation) }}
    {%- endcall -%}

    {{ run_hooks(post_hooks, inside_transaction=True) }}
    {%- if (pre_hooks + post_hooks) | selectattr('transaction') | list -%} {#- only they have begun one -#}
        {{ adapter.commit() }}
    {%- endif -%}
    {{ run_hooks(post_hooks, inside_transaction=False) }}
    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}

{#- The columns of the model's contract with their constraints, as dbt writes them. Of a fact the first is its own key, which
    no two of its rows share: the dictionary in which DuckDB keeps text by itself is only in the way there, and where the
    model's configuration names a column in `hardly_repeated`. With those compressed as text the published file of scale 1
    has 199.5 MiB for 256.2; they are written in less time, and counted and looked up in about the same. -#}
{% macro columns_of_contract() -%}
    {%- set own_key = 1 if model.name.startswith('fct_') else 0 -%}
    {%- set as_text = (model.columns.keys() | list)[:own_key] + config.get('hardly_repeated', []) -%}
    (
    {%- for column in adapter.render_raw_columns_constraints(raw_columns=model.columns) %}
        {{ column }}{{ ' using compression zstd' if column.split(' ')[0] in as_text }}{{ ',' if not loop.last }}
    {%- endfor %}
    )
{%- endmacro %}

{#- The columns of the model's contract out of files of Parquet, in the order of the first, which is the key of most
    tables. Where there is no row there may be no file. -#}
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

{#- Raise unless `sql` gives the columns of the model's contract in their types. Only where something differs does dbt's own
    check run, which says what: it plans the query once more, and another one of typed nulls beside it. -#}
{% macro refuse_other_types(sql) -%}
    {%- set wanted, given = [], [] -%}
    {%- for column in model.columns.values() -%}
        {%- do wanted.append(column.name ~ ' ' ~ column.data_type | upper) -%}
    {%- endfor -%}
    {%- for column in adapter.get_column_schema_from_query(sql ~ '\n') -%} {#- it may end in a comment -#}
        {%- do given.append(column.name ~ ' ' ~ column.dtype | upper) -%}
    {%- endfor -%}
    {%- if wanted | sort != given | sort -%}
        {{ get_assert_columns_equivalent(sql) }}
    {%- endif -%}
{%- endmacro %}

{#- The statements that keep the model's descriptions in the database, where its configuration says so. -#}
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

{#- A test on DuckDB without a transaction of its own, for it only reads. What is NOT here: rows that fail being stored. -#}
{% materialization test, adapter='duckdb' %}
    {%- call statement('main', fetch_result=True, auto_begin=False) -%}
        {{ get_test_sql(sql, config.get('fail_calc'), config.get('warn_if'), config.get('error_if'), config.get('limit')) }}
    {%- endcall -%}
    {{ return({'relations': []}) }}
{% endmaterialization %}
