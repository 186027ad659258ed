{#- Where each accounted entity stands in core. -#}
{%- set core_tables = {
    'dialogues': ['dim_dialogues', 'true'],
    'dialogue_services': ['dim_dialogue_services', 'true'],
    'participants': ['dim_participants', 'true'],
    'turns': ['fct_turns', 'true'],
    'delexed_turns': ['fct_turns', 'delexicalized_utterance is not null'],
    'frames': ['fct_frames', 'true'],
    'actions': ['fct_actions', 'true'],
    'spans': ['fct_slots', "annotation_type = 'span'"],
    'segments': ['fct_slots', "annotation_type = 'span' and coalesce(annotation_index, 0) = 0"],
    'annotations': ['fct_slots', "annotation_type = 'span' and annotation_index is not null"],
    'state_values': ['fct_slots', "annotation_type = 'state' and value_index is not null"],
    'action_values': ['fct_slots', "annotation_type = 'action_value'"],
    'selected_values': ['fct_slots', "annotation_type = 'selection'"],
    'call_parameters': ['fct_slots', "annotation_type = 'call_parameter'"],
    'service_calls': ['fct_service_calls', 'true'],
    'service_results': ['fct_service_results', 'true'],
    'services': ['dim_services', 'true'],
    'slot_definitions': ['dim_slots', 'true'],
    'intents': ['dim_intents', 'true'],
    'flows': ['dim_flows', 'true'],
    'intent_slots': ['dim_intent_slots', 'true'],
    'intent_acts': ['dim_intent_acts', 'true'],
    'acts': ['dim_acts', 'act_group is not null'],
    'act_slots': ['dim_act_slots', 'true'],
    'guidelines': ['dim_guidelines', 'subflow_title is not null'],
    'guideline_steps': ['dim_guideline_steps', 'true'],
    'vocabulary': ['dim_vocabulary', 'true'],
    'candidates': ['fct_candidates', 'true'],
    'candidate_utterances': ['dim_candidate_utterances', 'true'],
    'scenarios': ['dim_scenarios', 'true'],
    'scenario_values': ['dim_scenario_values', 'true'],
    'scenario_attributes': ['dim_scenario_attributes', 'attribute is not null'],
    'scenario_alphas': ['dim_scenario_attributes', 'alpha is not null'],
    'knowledge_items': ['fct_knowledge_items', 'true'],
    'split_members': ['dim_split_members', 'true'],
    'votes': ['fct_votes', 'true'],
    'gold_labels': ['fct_votes', 'is_selected'],
    'responses': ['fct_responses', 'true'],
    'classifier_examples': ['fct_classifier_examples', 'true'],
    'agent_descriptions': ['dim_agents', 'description is not null'],
} -%}
with

accounting as (
    select * from {{ ref('int_accounting_unioned') }}
),

core_counts as (
    {% for entity, place in core_tables.items() -%}
    select
        corpus_id,
        '{{ entity }}' as entity,
        count(*) as core_rows
    from {{ ref(place[0]) }}
    where {{ place[1] }}
    group by corpus_id
    {% if not loop.last %}
    union all
    {% endif %}
    {%- endfor %}
),

quarantined as (
    select
        files.corpus_id,
        files.entity,
        count(*) as quarantined_records
    from {{ ref('source_quarantine') }} as quarantine
    inner join {{ ref('dim_source_files') }} as files
        on quarantine.source_file_id = files.source_file_id
    group by files.corpus_id, files.entity
)

select
    accounting.corpus_id,
    accounting.entity,
    accounting.record_entity,

    cast(accounting.published as bigint) as published,
    cast(coalesce(quarantined.quarantined_records, 0) as bigint) as quarantined,
    cast(accounting.staged as bigint) as staged,
    cast(accounting.conformed as bigint) as conformed,
    cast(coalesce(core_counts.core_rows, 0) as bigint) as core
from accounting
left join core_counts
    on
        accounting.corpus_id = core_counts.corpus_id
        and accounting.entity = core_counts.entity
left join quarantined
    on
        accounting.corpus_id = quarantined.corpus_id
        and accounting.record_entity = quarantined.entity
