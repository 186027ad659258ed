with

-- A schema or ontology lists a service, an intent or a slot that it has listed before.
repeated_definition as (
    {% for name, key, table in [
        ('service', 'service_definition_key', ref('dim_services')),
        ('intent', 'intent_key', ref('dim_intents')),
        ('slot', 'slot_definition_key', ref('dim_slots')),
    ] -%}
    select
        corpus_id,
        {{ key }} as row_key,
        {{ regexp_replace_all(key, "'~[0-9]+$'", "''") }} as other_key,
        service,
        {{ 'slot' if name == 'slot' else 'cast(null as string)' }} as slot_name,
        '{{ name }} ' || {{ name }} || ' is already listed' as detail
    from {{ table }}
    where regexp_extract({{ key }}, '~[0-9]+$', 0) <> ''
    {% if not loop.last %}
    union all

    {% endif %}
    {%- endfor %}
)

{{ stack_rules(
    definitions=['repeated_definition'], others=['repeated_definition'], slots=['repeated_definition']
) }}
