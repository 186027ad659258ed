{#- One entity of a corpus's accounting, for `account`: how many were published (`published` counts them in a record of
    `raw`), staged and conformed. `record_entity` names the raw entity whose records these rows are, so that quarantined
    records can be counted beside; it stays empty for what lies inside a record. -#}
{% macro counted(entity, published, raw, staged, conformed, staged_where='true', conformed_where='true',
                 record_entity=none) -%}
    {{ return({
        'entity': entity,
        'record_entity': record_entity,
        'published': [raw ~ '', 'coalesce(sum(' ~ published ~ '), 0)'],
        'staged': [staged ~ '', 'count(*) filter (where ' ~ staged_where ~ ')'],
        'conformed': [conformed ~ '', 'count(*) filter (where ' ~ conformed_where ~ ')'],
    }) }}
{%- endmacro %}

{#- The accounting of a corpus, one row an entity of `entities` (each made by `counted`). Every relation is read once,
    however many entities are counted in it. -#}
{% macro account(corpus_id, entities) -%}
{%- set relations = [] -%}
{%- for entity in entities -%}
    {%- for layer in ['published', 'staged', 'conformed'] if entity[layer][0] not in relations -%}
        {%- do relations.append(entity[layer][0]) -%}
    {%- endfor -%}
{%- endfor -%}
with
{% for relation in relations %}
counts_{{ loop.index0 }} as (
    select
    {%- for entity in entities -%}
        {%- for layer in ['published', 'staged', 'conformed'] if entity[layer][0] == relation %}
        cast({{ entity[layer][1] }} as bigint) as {{ entity['entity'] }}_{{ layer }},
        {%- endfor -%}
    {%- endfor %}
        count(*) as row_count
    from {{ relation }}
)
{%- if not loop.last %},{% endif %}
{% endfor %}
{% for entity in entities -%}
select
    '{{ corpus_id }}' as corpus_id,
    '{{ entity['entity'] }}' as entity,
    {{ "'" ~ entity['record_entity'] ~ "'" if entity['record_entity'] else 'cast(null as string)' }} as record_entity
    {%- for layer in ['published', 'staged', 'conformed'] %},
    (select {{ entity['entity'] }}_{{ layer }} from counts_{{ relations.index(entity[layer][0]) }}) as {{ layer }}
    {%- endfor %}
{% if not loop.last %}
union all
{% endif %}
{%- endfor %}
{%- endmacro %}

{#- How many elements of `list`, each named `variable`, satisfy `condition`: the length of a text with one letter each. -#}
{% macro count_where(list, variable, condition) -%}
    {%- set letter = "case when " ~ condition ~ " then 'x' else '' end" -%}
    length({{ list_join(list_map(list, variable, letter), "''") }})
{%- endmacro %}
