{#- One segment of a key: `%` and `/` are escaped, so that a key can be taken apart again. -#}
{% macro key_segment(text) -%}
    replace(replace({{ text }}, '%', '%25'), '/', '%2F')
{%- endmacro %}

{#- `<corpus_id>/<source_part>/<native id>`, with `~2`, `~3` on an id that occurs again in its part. -#}
{% macro dialogue_key(corpus_id, source_part, native_id, occurrence) -%}
    '{{ corpus_id }}/' || {{ key_segment(source_part) }} || '/' || {{ key_segment(native_id) }}
        || case when {{ occurrence }} > 1 then '~' || cast({{ occurrence }} as string) else '' end
{%- endmacro %}

{#- How often a native id has occurred in its part, in file order, this record included. -#}
{% macro id_occurrence(source_part, native_id) -%}
    row_number() over (
        partition by {{ source_part }}, {{ native_id }}
        order by source_file_id, record_index
    )
{%- endmacro %}

{#- The shared split of a publisher's word for it. -#}
{% macro shared_split(source_split) -%}
    case {{ source_split }} when 'train' then 'train' when 'dev' then 'validation' when 'test' then 'test' end
{%- endmacro %}
