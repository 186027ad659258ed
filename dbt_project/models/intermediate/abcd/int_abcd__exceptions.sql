{#- Lists that are published empty and would have no rows in core; they have rows here. -#}
with

kb as (
    select
        source_file_id,
        record_pointer as json_pointer
    from {{ ref('stg_abcd__kb') }}
    where act is null
),

subflows as (
    select
        source_file_id,
        '/intents/subflows/' || {{ pointer_token('flow') }} as json_pointer
    from {{ ref('stg_abcd__subflows') }}
    where subflow is null
),

slot_groups as (
    select
        source_file_id,
        '/values/non_enumerable/' || {{ pointer_token('slot_group') }} as json_pointer
    from {{ ref('stg_abcd__slots') }}
    where slot is null
)

{% for empty_lists in ['kb', 'subflows', 'slot_groups'] -%}
select
    source_file_id,
    'abcd' as corpus_id,
    json_pointer,
    'empty_list' as form
from {{ empty_lists }}
{% if not loop.last %}
union all

{% endif %}
{%- endfor %}
