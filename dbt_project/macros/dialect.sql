{#- The constructs that DuckDB and Spark write differently; `dialect_spark` has the Spark versions. All other
    SQL runs on both engines; a lint in the tests checks this. Positions count from 0. -#}

{#- Select-list items: one row for each element of `list`, with the element as `element` and its position as
    `position`. With keep_empty, a list without elements gives one row with NULL as its element. -#}
{% macro explode_indexed(list, element, position, keep_empty=false) -%}
    {{ return(adapter.dispatch('explode_indexed')(list, element, position, keep_empty)) }}
{%- endmacro %}

{% macro default__explode_indexed(list, element, position, keep_empty) -%}
    {%- set kept = 'case when len(' ~ list ~ ') = 0 then [null] else ' ~ list ~ ' end' if keep_empty else list -%}
    unnest({{ kept }}) as {{ element }},
        cast(generate_subscripts({{ kept }}, 1) - 1 as integer) as {{ position }}
{%- endmacro %}

{#- Select-list items: one row for each entry of `map`, with its key, its value and its position. With keep_empty, a
    map without entries gives one row with NULL as its key and value. -#}
{% macro explode_map(map, key, value, position, keep_empty=false) -%}
    {{ return(adapter.dispatch('explode_map')(map, key, value, position, keep_empty)) }}
{%- endmacro %}

{% macro default__explode_map(map, key, value, position, keep_empty) -%}
    {%- set keys, values = 'map_keys(' ~ map ~ ')', 'map_values(' ~ map ~ ')' -%}
    {%- if keep_empty -%}
        {%- set values = 'case when len(' ~ keys ~ ') = 0 then [null] else ' ~ values ~ ' end' -%}
        {%- set keys = 'case when len(' ~ keys ~ ') = 0 then [null] else ' ~ keys ~ ' end' -%}
    {%- endif -%}
    unnest({{ keys }}) as {{ key }},
        unnest({{ values }}) as {{ value }},
        cast(generate_subscripts({{ keys }}, 1) - 1 as integer) as {{ position }}
{%- endmacro %}

{#- The element of `list` at `position`; NULL outside the list. -#}
{% macro list_at(list, position) -%}
    {{ return(adapter.dispatch('list_at')(list, position)) }}
{%- endmacro %}

{% macro default__list_at(list, position) -%}
    list_extract({{ list }}, {{ position }} + 1)
{%- endmacro %}

{#- A list of one element. -#}
{% macro list_of(element) -%}
    {{ return(adapter.dispatch('list_of')(element)) }}
{%- endmacro %}

{% macro default__list_of(element) -%}
    [{{ element }}]
{%- endmacro %}

{#- The value of `key` in `map`; NULL if the map does not have the key. -#}
{% macro map_at(map, key) -%}
    {{ return(adapter.dispatch('map_at')(map, key)) }}
{%- endmacro %}

{% macro default__map_at(map, key) -%}
    map_extract_value({{ map }}, {{ key }})
{%- endmacro %}

{#- `list` with each element, named `variable`, replaced by `expression`. -#}
{% macro list_map(list, variable, expression) -%}
    {{ return(adapter.dispatch('list_map')(list, variable, expression)) }}
{%- endmacro %}

{% macro default__list_map(list, variable, expression) -%}
    list_transform({{ list }}, lambda {{ variable }}: {{ expression }})
{%- endmacro %}

{#- The text elements of `list` with `separator` between them. -#}
{% macro list_join(list, separator) -%}
    {{ return(adapter.dispatch('list_join')(list, separator)) }}
{%- endmacro %}

{% macro default__list_join(list, separator) -%}
    array_to_string({{ list }}, {{ separator }})
{%- endmacro %}

{#- The concatenation of the lists in `lists`; a list that is NULL counts as empty. -#}
{% macro list_flatten(lists) -%}
    {{ return(adapter.dispatch('list_flatten')(lists)) }}
{%- endmacro %}

{% macro default__list_flatten(lists) -%}
    flatten({{ lists }})
{%- endmacro %}

{#- Aggregate: the list of `expression` ordered by `order_by`. -#}
{% macro list_agg_ordered(expression, order_by) -%}
    {{ return(adapter.dispatch('list_agg_ordered')(expression, order_by)) }}
{%- endmacro %}

{% macro default__list_agg_ordered(expression, order_by) -%}
    array_agg({{ expression }} order by {{ order_by }})
{%- endmacro %}

{#- `text` with each match of the regular expression `pattern` replaced by `replacement`. -#}
{% macro regexp_replace_all(text, pattern, replacement) -%}
    {{ return(adapter.dispatch('regexp_replace_all')(text, pattern, replacement)) }}
{%- endmacro %}

{% macro default__regexp_replace_all(text, pattern, replacement) -%}
    regexp_replace({{ text }}, {{ pattern }}, {{ replacement }}, 'g')
{%- endmacro %}

{#- `text` in lower case, letter by letter: the same letter has the same form everywhere in a text. -#}
{% macro lower_case(text) -%}
    {{ return(adapter.dispatch('lower_case')(text)) }}
{%- endmacro %}

{% macro default__lower_case(text) -%}
    lower({{ text }})
{%- endmacro %}

{#- Select-list item: one row for each piece of `text` between the separators, with the piece as `element`. The
    separator is a text, not a pattern. Positions are left out: with millions of pieces they cost a quarter of the
    time. -#}
{% macro explode_split(text, separator, element) -%}
    {{ return(adapter.dispatch('explode_split')(text, separator, element)) }}
{%- endmacro %}

{% macro default__explode_split(text, separator, element) -%}
    unnest(string_split({{ text }}, {{ separator }})) as {{ element }}
{%- endmacro %}

{#- The words of `text`, separated by white space of any kind, as in Python's `str.split()`. -#}
{% macro words(text) -%}
    {{ return(adapter.dispatch('words')(text)) }}
{%- endmacro %}

{% macro default__words(text) -%}
    regexp_extract_all({{ text }}, '[^\s\x0b\x1c-\x1f\x{85}\pZ]+')
{%- endmacro %}

{#- The number of words of `text`. -#}
{% macro word_count(text) -%}
    {{ return(adapter.dispatch('word_count')(text)) }}
{%- endmacro %}

{#- The pattern of `words` is slow. Only a text with non-ASCII characters, or with more than single spaces between
    its words, needs it. -#}
{% macro default__word_count(text) -%}
    case
            when regexp_matches({{ text }}, '^$|^ |  | $|[^ -~]') then len({{ default__words(text) }})
            else length({{ text }}) - length(replace({{ text }}, ' ', '')) + 1
        end
{%- endmacro %}

{#- NULL of a type of a contract, which is written as in DuckDB. -#}
{% macro null_as(type) -%}
    {{ return(adapter.dispatch('null_as')(type)) }}
{%- endmacro %}

{% macro default__null_as(type) -%}
    cast(null as {{ type }})
{%- endmacro %}
