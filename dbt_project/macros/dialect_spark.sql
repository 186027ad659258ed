{#- The Spark versions of the macros in `dialect`. A literal with a backslash has the prefix `r`, so that Spark
    keeps the backslash as DuckDB does. -#}

{% macro spark__explode_indexed(list, element, position, keep_empty) -%}
    {%- set kept = 'case when cardinality(' ~ list ~ ') = 0 then array(null) else ' ~ list ~ ' end' if keep_empty else list -%}
    posexplode({{ kept }}) as ({{ position }}, {{ element }})
{%- endmacro %}

{#- The fields of a struct have the same names in both branches; otherwise Spark treats them as different types. -#}
{% macro spark__explode_map(map, key, value, position, keep_empty) -%}
    {%- set entries -%}
        transform(
            map_entries({{ map }}), (entry, place) -> named_struct('key', entry.key, 'value', entry.value, 'place', place)
        )
    {%- endset -%}
    {%- set nothing = "array(named_struct('key', null, 'value', null, 'place', 0))" -%}
    {%- set kept -%}
        {{ 'case when cardinality(' ~ map ~ ') = 0 then ' ~ nothing ~ ' else ' ~ entries ~ ' end' if keep_empty else entries }}
    {%- endset -%}
    inline({{ kept }}) as ({{ key }}, {{ value }}, {{ position }})
{%- endmacro %}

{% macro spark__list_at(list, position) -%}
    get({{ list }}, {{ position }})
{%- endmacro %}

{% macro spark__list_of(element) -%}
    array({{ element }})
{%- endmacro %}

{% macro spark__map_at(map, key) -%}
    element_at({{ map }}, {{ key }})
{%- endmacro %}

{% macro spark__list_map(list, variable, expression) -%}
    transform({{ list }}, {{ variable }} -> {{ expression }})
{%- endmacro %}

{% macro spark__list_join(list, separator) -%}
    array_join({{ list }}, {{ separator }})
{%- endmacro %}

{% macro spark__list_flatten(lists) -%}
    flatten(filter({{ lists }}, list -> list is not null))
{%- endmacro %}

{#- `collect_list` keeps no order and leaves NULL out, but it keeps a struct that contains NULL. Without rows the
    result is NULL, as in DuckDB. -#}
{% macro spark__list_agg_ordered(expression, order_by) -%}
    {%- set columns = order_by.split(',') -%}
    {%- set names = [] -%}
    {%- for column in columns -%}
        {%- do names.append("'place_" ~ loop.index0 ~ "', " ~ column) -%}
    {%- endfor -%}
    {%- set collected -%}
        collect_list(named_struct({{ names | join(', ') }}, 'value', {{ expression }}))
    {%- endset -%}
    case when count(*) > 0 then transform(array_sort({{ collected }}), placed -> placed.value) end
{%- endmacro %}

{% macro spark__regexp_replace_all(text, pattern, replacement) -%}
    regexp_replace({{ text }}, {{ pattern }}, {{ replacement }})
{%- endmacro %}

{#- `lower` makes two letters of a capital I with a dot, and gives a capital sigma another form at the end of a word. -#}
{% macro spark__lower_case(text) -%}
    lower(translate({{ text }}, 'İΣ', 'iσ'))
{%- endmacro %}

{% macro spark__explode_split(text, separator, element) -%}
    explode(split({{ text }}, r'\Q' || {{ separator }} || r'\E')) as {{ element }}
{%- endmacro %}

{% macro spark__words(text) -%}
    regexp_extract_all({{ text }}, r'[^\s\x0b\x1c-\x1f\x{85}\pZ]+', 0)
{%- endmacro %}

{% macro spark__word_count(text) -%}
    cardinality({{ spark__words(text) }})
{%- endmacro %}

{% macro spark__null_as(type) -%}
    cast(null as {{ spark_type(type) }})
{%- endmacro %}

{#- The name that Spark's `describe` gives to a type of a contract, which is written as in DuckDB. -#}
{% macro spark_type(type) -%}
    {%- set names = {'varchar': 'string', 'integer': 'int', 'timestamp': 'timestamp_ntz'} -%}
    {%- set type = type | lower | trim -%}
    {%- if type.endswith('[]') -%}
        {{ return('array<' ~ spark_type(type[:-2]) ~ '>') }}
    {%- elif type.startswith('map(') -%}
        {%- set parts = type[4:-1].split(',') -%}
        {{ return('map<' ~ spark_type(parts[0]) ~ ',' ~ spark_type(parts[1]) ~ '>') }}
    {%- endif -%}
    {{ return(names.get(type, type)) }}
{%- endmacro %}
