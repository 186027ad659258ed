{{ config(materialized='table') }}

{#- The scalar fields of the scenario, NULL if absent, and the two product lists; a test compares these names with
    the schema. -#}
{%- set sections = {
    'personal': ['customer_name', 'member_level', 'phone', 'email', 'username', 'account_id'],
    'order': [
        'street_address', 'full_address', 'city', 'state', 'zip_code', 'num_products', 'order_id', 'packaging',
        'payment_method', 'products', 'purchase_date', 'shipping_status'
    ],
} %}

{% for section, fields in sections.items() -%}
{% for field in fields -%}
select
    source_file_id,
    source_part,
    record_index,

    '{{ section }}' as section,
    '{{ field }}' as field,
    cast(null as integer) as value_index,
    scenario.{{ section }}.{{ field }} as value
from {{ source('raw_abcd', 'abcd__conversations') }}

union all

{% endfor %}
{%- endfor -%}
select
    source_file_id,
    source_part,
    record_index,

    'product' as section,
    'names' as field,
    value_index,
    value
from (
    select
        source_file_id,
        source_part,
        record_index,
        {{ explode_indexed('scenario.product.names', 'value', 'value_index') }}
    from {{ source('raw_abcd', 'abcd__conversations') }}
) as product_names

union all

select
    source_file_id,
    source_part,
    record_index,

    'product' as section,
    'amounts' as field,
    value_index,
    cast(value as string) as value
from (
    select
        source_file_id,
        source_part,
        record_index,
        {{ explode_indexed('scenario.product.amounts', 'value', 'value_index') }}
    from {{ source('raw_abcd', 'abcd__conversations') }}
) as product_amounts
