{#- One segment of a key: `%` is escaped, then `/`, so that a key can be taken apart again, and `~`, so that no id can
    meet the `~2` of one that occurs again. -#}
{% macro key_segment(text) -%}
    replace(replace(replace({{ text }}, '%', '%25'), '/', '%2F'), '~', '%7E')
{%- endmacro %}

{#- A segment with `~2`, `~3` on what occurs again where its key wants it once. -#}
{% macro numbered_segment(text, occurrence) -%}
    {{ key_segment(text) }} || case when {{ occurrence }} > 1 then '~' || cast({{ occurrence }} as string) else '' end
{%- endmacro %}

{#- Whether a key and those it stands below occur for the first time. -#}
{% macro is_first(key) -%}
    {{ key }} not like '%~%'
{%- endmacro %}

{#- `<corpus_id>/<source_part>/<native id>`, numbered where the id occurs again in its part. -#}
{% macro dialogue_key(corpus_id, source_part, native_id, occurrence) -%}
    '{{ corpus_id }}/' || {{ key_segment(source_part) }} || '/' || {{ numbered_segment(native_id, occurrence) }}
{%- endmacro %}

{#- How often a native id has occurred in its part, in file order, this record included. -#}
{% macro id_occurrence(source_part, native_id) -%}
    row_number() over (
        partition by {{ source_part }}, {{ native_id }}
        order by source_file_id, record_index
    )
{%- endmacro %}

{#- The shared split of a publisher's word: `words` maps the words of the release to train, validation or test. Any other
    word has no split and stays in source_split, where the rule `unknown_split` reports it. -#}
{% macro shared_split(source_split, words) -%}
    case {{ source_split }}
        {%- for word, split in words.items() %}
        when '{{ word }}' then '{{ split }}'
        {%- endfor %}
    end
{%- endmacro %}

{#- Aggregate: the attributes and values of an item as a text that no other item has, whatever signs they contain. -#}
{% macro item_text() -%}
    {{ list_join(
        list_agg_ordered(key_segment('attribute') ~ " || '/' || " ~ key_segment('value'), 'attribute'), "'/'"
    ) }}
{%- endmacro %}
