{{ config(materialized='table') }}

{#- The options in the order of the release. The agents are listed by name, because they share a namespace with the
    question's other keys. A test compares this list with the corpus's schema. -#}
{%- set options = [
    'none', 'alexa', 'google', 'houndify', 'recipe', 'dictionary', 'task_manager', 'hotel', 'stock', 'math', 'sport',
    'wikipedia', 'mobile', 'banking', 'coffee', 'event_search', 'jokes', 'reminders', 'adasa', 'covid'
] %}

{% for option in options -%}
select
    source_file_id,
    record_index,
    {{ loop.index0 }} as option_index,
    '{{ option }}' as option_name,
    human_vote.{{ option }} as votes,
    {{ 'cast(null as string)' if option == 'none' else option }} as response
from {{ source('raw_bbai', 'bbai__questions') }}
{% if not loop.last %}
union all

{% endif %}
{%- endfor %}
