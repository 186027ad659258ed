{#- The rows that break a rule, stacked. The rules are given by what their rows are, each rule_id (the name of the CTE
    that finds its rows) with the thread where users reported it, or none. Every CTE has `detail`, and besides
      turns: dialogue_key, turn_index, row_key       dialogues: dialogue_key, row_key
      definitions: row_key                           files: source_file_id, record_index
    The place of the first two is their dialogue's, that of definitions the one of their key in dim_key_pointers. Without
    `corpus_id` the rules are those of all corpora, and every CTE has that column too. Under them stand the rows of
    `relations`, which were made in this way themselves. -#}
{% macro stack_rules(corpus_id=none, turns={}, dialogues={}, definitions={}, files={}, relations=[]) -%}
    {%- set columns = {
        'source_file_id': ['string', [files]],
        'record_index': ['integer', [files]],
        'dialogue_key': ['string', [turns, dialogues]],
        'turn_index': ['integer', [turns]],
        'row_key': ['string', [turns, dialogues, definitions]],
    } -%}
    {%- set selects = [] -%}
    {%- for rules in [turns, dialogues, definitions, files] -%}
        {%- for rule_id, thread in rules.items() -%}
            {%- set select %}
select
    '{{ rule_id }}' as rule_id,
    {{ "'" ~ corpus_id ~ "' as corpus_id" if corpus_id else 'corpus_id' }},
    {%- for column, (type, having) in columns.items() %}
    {{ column if rules in having else 'cast(null as ' ~ type ~ ') as ' ~ column }},
    {%- endfor %}
    detail,
    {{ "'" ~ thread ~ "'" if thread else 'cast(null as string)' }} as upstream_reference
from {{ rule_id }}
            {%- endset -%}
            {%- do selects.append(select) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- for relation in relations -%}
        {%- set select %}
select
    rule_id,
    corpus_id,
    {{ columns | join(',\n    ') }},
    detail,
    upstream_reference
from {{ relation }}
        {%- endset -%}
        {%- do selects.append(select) -%}
    {%- endfor -%}
    {{ selects | join('\n\nunion all\n') }}
{%- endmacro %}

{#- The thread that a row of `relation` belongs to: what vars.upstream_threads says of its corpus and rule, or else what
    the row says itself. -#}
{% macro thread_of(relation) -%}
    case
        {%- for corpus_id, threads in var('upstream_threads').items() %}
        {%- for rule_id, thread in threads.items() %}
        when {{ relation }}.corpus_id = '{{ corpus_id }}' and {{ relation }}.rule_id = '{{ rule_id }}' then '{{ thread }}'
        {%- endfor %}
        {%- endfor %}
        else {{ relation }}.upstream_reference
    end
{%- endmacro %}
