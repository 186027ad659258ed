{#- One row of a corpus's accounting: how many rows of an entity were published (records and list lengths in the raw
    Parquet), staged and conformed. `record_entity` names the raw entity whose records these rows are, so that
    quarantined records can be counted beside; it stays empty for what lies inside a record. -#}
{% macro account(corpus_id, entity, published, raw, staged, conformed, staged_where='true', conformed_where='true',
                 record_entity=none) -%}
select
    '{{ corpus_id }}' as corpus_id,
    '{{ entity }}' as entity,
    {{ "'" ~ record_entity ~ "'" if record_entity else 'cast(null as string)' }} as record_entity,
    (select cast(coalesce(sum({{ published }}), 0) as bigint) from {{ raw }}) as published,
    (select count(*) from {{ staged }} where {{ staged_where }}) as staged,
    (select count(*) from {{ conformed }} where {{ conformed_where }}) as conformed
{%- endmacro %}

{#- How many elements of `list`, each named `variable`, satisfy `condition`: the length of a text with one letter each. -#}
{% macro count_where(list, variable, condition) -%}
    {%- set letter = "case when " ~ condition ~ " then 'x' else '' end" -%}
    length({{ list_join(list_map(list, variable, letter), "''") }})
{%- endmacro %}
