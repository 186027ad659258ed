{#- One segment of a key. `%` is escaped first, then `/`, so that a key can be split into its segments again, and
    `~`, so that no id can be confused with the suffix `~2` of a repeated id. -#}
{% macro key_segment(text) -%}
    replace(replace(replace({{ text }}, '%', '%25'), '/', '%2F'), '~', '%7E')
{%- endmacro %}

{#- A segment, with the suffix `~2`, `~3`, … if the name occurs again although its key must be unique. -#}
{% macro numbered_segment(text, occurrence) -%}
    {{ key_segment(text) }} || case when {{ occurrence }} > 1 then '~' || cast({{ occurrence }} as string) else '' end
{%- endmacro %}

{#- A position as a segment: five digits, or more for a longer number. -#}
{% macro position_segment(position) -%}
    {%- set digits = 'cast(' ~ position ~ ' as string)' -%}
    case when {{ position }} < 100000 then lpad({{ digits }}, 5, '0') else {{ digits }} end
{%- endmacro %}

{#- `name` without the number at its end, which the regular expression `number` describes: the whole of any other name.
    The dot matches line breaks too, and the end is that of the text: Spark's `$` may be before a last line break. -#}
{% macro without_number(name, number) -%}
    regexp_extract({{ name }}, '(?s)^(.*?)({{ number }})?' || chr(92) || 'z', 1)
{%- endmacro %}

{#- True if a key, and every key above it, occurs for the first time. -#}
{% macro is_first(key) -%}
    {{ key }} not like '%~%'
{%- endmacro %}

{#- `<corpus_id>/<source_part>/<native id>`, with a number if the id occurs again in its part. -#}
{% macro dialogue_key(corpus_id, source_part, native_id, occurrence) -%}
    '{{ corpus_id }}/' || {{ key_segment(source_part) }} || '/' || {{ numbered_segment(native_id, occurrence) }}
{%- endmacro %}

{#- Number of times a native id has occurred in its part, in file order, up to and including this record. -#}
{% macro id_occurrence(source_part, native_id) -%}
    row_number() over (
        partition by {{ source_part }}, {{ native_id }}
        order by source_file_id, record_index
    )
{%- endmacro %}

{#- The shared split for the publisher's name of a split: `words` maps the names in the release to train, validation
    or test; `validation` needs no entry, as other copies of a release write it for `dev`. Any other name has no split
    and is kept in source_split, where the rule `unknown_split` reports it. -#}
{% macro shared_split(source_split, words) -%}
    case {{ source_split }}
        {%- for word, split in dict({'validation': 'validation'}, **words).items() %}
        when '{{ word }}' then '{{ split }}'
        {%- endfor %}
    end
{%- endmacro %}

{#- Aggregate: the attributes and values of an item as one text that is different for each item, whatever characters
    they contain. -#}
{% macro item_text() -%}
    {{ list_join(
        list_agg_ordered(key_segment('attribute') ~ " || '/' || " ~ key_segment('value'), 'attribute'), "'/'"
    ) }}
{%- endmacro %}
