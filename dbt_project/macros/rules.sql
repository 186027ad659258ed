{#- The rows that break a rule, stacked. The rules are given by what their rows are, each by its rule_id: the name of the
    CTE that finds its rows. Every CTE has `detail`, and besides
      turns: dialogue_key, turn_index, row_key       dialogues: dialogue_key, row_key
      definitions: row_key                           files: source_file_id, record_index
    The place of the first two is their dialogue's, that of definitions the one of their key in dim_key_pointers. The
    rules in `others` have other_key too, those in `slots` have service and slot_name. Without `corpus_id` the rules are
    those of all corpora, and every CTE has that column too. Under them stand the rows of `relations`, which were made
    in this way themselves. A corpus may have no rule of its own. -#}
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
