{#- One entity of a corpus's accounting, as input of `account`: the number of rows that are published (`published`
    counts them in a record of `raw`), staged and conformed, and the core table that has them. `record_entity` names
    the raw entity whose records these rows are, so that records in quarantine can be counted separately. It is
    empty for rows inside a record. -#}
{% macro counted(entity, published, raw, staged, conformed, core, staged_where='true', conformed_where='true',
                 core_where='true', record_entity=none) -%}
    {{ return({
        'entity': entity,
        'record_entity': record_entity,
        'core': {'table': core, 'where': core_where},
        'published': [raw ~ '', 'coalesce(sum(' ~ published ~ '), 0)'],
        'staged': [staged ~ '', counted_rows(staged_where)],
        'conformed': [conformed ~ '', counted_rows(conformed_where)],
    }) }}
{%- endmacro %}

{#- Aggregate: the rows that satisfy `condition`. -#}
{% macro counted_rows(condition) -%}
    {{ return('count(*)' if condition == 'true' else 'count(*) filter (where ' ~ condition ~ ')') }}
{%- endmacro %}

{#- The accounting of a corpus up to its conformed models, one row for each of `entities` (made by `counted`). It is
    a small table, because planning all corpora in one query takes longer than planning them one by one. Each
    relation is read once, however many entities are counted in it, and each subquery is referenced once: Spark
    would run it twice otherwise. The core table and the raw entity of each entity are stored as `meta` of the model,
    for `row_accounting`: a conformed model reads no core table. -#}
{% macro account(corpus_id, entities) -%}
{%- set relations, places, records = [], {}, {} -%}
{%- for entity in entities -%}
    {%- do places.update({entity['entity']: entity['core']}) -%}
    {%- do records.update({entity['entity']: entity['record_entity']}) -%}
    {%- for layer in ['published', 'staged', 'conformed'] if entity[layer][0] not in relations -%}
        {%- do relations.append(entity[layer][0]) -%}
    {%- endfor -%}
{%- endfor -%}
{{ config(materialized='table', meta={'stands_in_core': places, 'records': records}) }}
with
{% for relation in relations %}
counts_{{ loop.index0 }} as (
    select
    {%- for entity in entities -%}
        {%- for layer in ['published', 'staged', 'conformed'] if entity[layer][0] == relation %}
        {{ entity[layer][1] }} as {{ entity['entity'] }}_{{ layer }},
        {%- endfor -%}
    {%- endfor %}
        {{ loop.index0 }} as relation
    from {{ relation }}
),
{% endfor %}
counts as (
    select * from {% for relation in relations %}counts_{{ loop.index0 }}{{ ' cross join ' if not loop.last }}{% endfor %}
)

select
    '{{ corpus_id }}' as corpus_id,
    entities.entity,
    entities.record_entity,
    {%- for layer in ['published', 'staged', 'conformed'] %}
    case entities.entity
        {%- for entity in entities %}
        when '{{ entity['entity'] }}' then counts.{{ entity['entity'] }}_{{ layer }}
        {%- endfor %}
    end as {{ layer }}{{ ',' if not loop.last }}
    {%- endfor %}
from counts
cross join (
    {%- for entity in entities %}
    select
        '{{ entity['entity'] }}' as entity,
        {{ "'" ~ entity['record_entity'] ~ "'" if entity['record_entity'] else 'cast(null as string)' }} as record_entity
    {{ 'union all' if not loop.last }}
    {%- endfor %}
) as entities
{%- endmacro %}

{#- Core tables of the entities of all corpora, as their accounting models declare them: for each of `tables` a list
    of entity, condition and corpora. Raise if an entity names a table that is not in `tables`. -#}
{% macro places_in_core(tables) -%}
    {%- set places = {} -%}
    {%- for corpus in corpora_with('accounting') if execute -%}
        {%- set name = 'int_' ~ corpus ~ '__accounting' -%}
        {%- set declared = graph.nodes['model.' ~ project_name ~ '.' ~ name].config.meta['stands_in_core'] -%}
        {%- for entity, place in declared.items() -%}
            {%- if place['table'] not in tables -%}
                {{ exceptions.raise_compiler_error(
                    corpus ~ ": " ~ name ~ " says that " ~ entity ~ " are in " ~ place['table']
                        ~ ", which row_accounting does not read"
                ) }}
            {%- endif -%}
            {%- set there = places.setdefault(place['table'], {}) -%}
            {%- do there.setdefault((entity, place['where']), []).append(corpus) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(places) }}
{%- endmacro %}

{#- Rows of the accounting with zeros, for the corpora that have no files in this build. -#}
{% macro zero_accounting() -%}
    {%- set built = corpora_with('accounting') -%}
    {%- for corpus in corpora_with('accounting', built=none) if execute and corpus not in built -%}
        {%- set declared = graph.nodes['model.' ~ project_name ~ '.int_' ~ corpus ~ '__accounting'].config.meta -%}
        {%- for entity, record_entity in declared['records'].items() %}
    union all
    select
        '{{ corpus }}' as corpus_id,
        '{{ entity }}' as entity,
        {{ "'" ~ record_entity ~ "'" if record_entity else 'cast(null as string)' }} as record_entity,
        0 as published,
        0 as staged,
        0 as conformed
        {%- endfor -%}
    {%- endfor -%}
{%- endmacro %}

{#- The total number of elements of the lists in `lists`. -#}
{% macro count_within(lists) -%}
    cardinality({{ list_flatten(lists) }})
{%- endmacro %}

{#- The number of elements of `list`, each named `variable`, that satisfy `condition`. It is computed as the length
    of a text with one letter for each such element. -#}
{% macro count_where(list, variable, condition) -%}
    {%- set letter = "case when " ~ condition ~ " then 'x' else '' end" -%}
    length({{ list_join(list_map(list, variable, letter), "''") }})
{%- endmacro %}
