{{ config(materialized='table') }}

{#- The options in the order of the release; the agents are named, because a question's other keys share their
    namespace. A test holds this list against the corpus' schema. -#}
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
