{#- The rows that break a rule, stacked. The arguments list the rules by the kind of their rows. A rule_id is the name
    of the CTE that finds the rows of the rule. Every CTE has `detail`, and in addition
      turns: dialogue_key, turn_index, row_key       dialogues: dialogue_key, row_key
      definitions: row_key                           files: source_file_id, record_index
    The place of turns and dialogues is that of their dialogue, the place of definitions is that of their key in
    dim_key_pointers. The rules in `others` also have other_key, the rules in `slots` have service and slot_name.
    Without `corpus_id` the rules are shared by all corpora, and every CTE has that column too. The rows of
    `relations`, which were made with this macro, are added at the end. -#}
{% macro stack_rules(
    corpus_id=none, turns=[], dialogues=[], definitions=[], files=[], others=[], slots=[], relations=[]
) -%}
    {%- set rules = turns + dialogues + definitions + files -%}
    {%- set columns = {
        'source_file_id': ['string', files],
        'record_index': ['integer', files],
        'row_key': ['string', turns + dialogues + definitions],
        'other_key': ['string', others],
        'dialogue_key': ['string', turns + dialogues],
        'turn_index': ['integer', turns],
        'service': ['string', slots],
        'slot_name': ['string', slots],
    } -%}
    {%- set selects = [] -%}
    {%- for rule_id in rules -%}
        {%- set select %}
select
    '{{ rule_id }}' as rule_id,
    {{ "'" ~ corpus_id ~ "' as corpus_id" if corpus_id else 'corpus_id' }},
    {%- for column, (type, having) in columns.items() %}
    {{ column if rule_id in having else 'cast(null as ' ~ type ~ ') as ' ~ column }},
    {%- endfor %}
    detail
from {{ rule_id }}
        {%- endset -%}
        {%- do selects.append(select) -%}
    {%- endfor -%}
    {%- for relation in relations -%}
        {%- set select %}
select
    rule_id,
    corpus_id,
    {{ columns | join(',\n    ') }},
    detail
from {{ relation }}
        {%- endset -%}
        {%- do selects.append(select) -%}
    {%- endfor -%}
    {%- if not selects -%}
        {%- set select %}
select
    cast(null as string) as rule_id,
    cast(null as string) as corpus_id,
    {%- for column, (type, having) in columns.items() %}
    cast(null as {{ type }}) as {{ column }},
    {%- endfor %}
    cast(null as string) as detail
where false
        {%- endset -%}
        {%- do selects.append(select) -%}
    {%- endif -%}
    {{ selects | join('\n\nunion all\n') }}
{%- endmacro %}

{#- A number and what it counts, such as `1 vote` and `2 votes`, as the SQL of a text. The noun is singular. -#}
{% macro quantity(number, noun) -%}
    cast({{ number }} as string) || case when {{ number }} = 1 then ' {{ noun }}' else ' {{ noun }}s' end
{%- endmacro %}
