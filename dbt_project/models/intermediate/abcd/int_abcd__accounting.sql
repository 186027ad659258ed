{%- set conversations = source('raw_abcd', 'abcd__conversations') -%}
{%- set ontology = source('raw_abcd', 'abcd__ontology') -%}
{%- set guidelines = source('raw_abcd', 'abcd__guidelines') -%}
{%- set turns = ref('stg_abcd__delexed_turns') -%}
{%- set buttons = ['kb_query', 'interaction', 'faq_policy'] -%}
{%- set scalars = {
    'personal': ['customer_name', 'member_level', 'phone', 'email', 'username', 'account_id'],
    'order': [
        'street_address', 'full_address', 'city', 'state', 'zip_code', 'num_products', 'order_id', 'packaging',
        'payment_method', 'products', 'purchase_date', 'shipping_status'
    ],
} -%}
{%- set scenario_values -%}
    cardinality(scenario.product.names) + cardinality(scenario.product.amounts)
    {%- for section, fields in scalars.items() %}{% for field in fields %}
    + case when scenario.{{ section }}.{{ field }} is null then 0 else 1 end
    {%- endfor %}{% endfor %}
{%- endset -%}

{{ account('abcd', [
    counted('dialogues', '1', conversations, ref('stg_abcd__conversations'), ref('int_abcd__dialogues'),
            record_entity='conversations', core='dim_dialogues'),
    counted('turns', 'cardinality(original)', conversations, ref('stg_abcd__original_turns'), ref('int_abcd__turns'),
            core='fct_turns'),
    counted('delexed_turns', 'cardinality(delexed)', conversations, turns, ref('int_abcd__turns'),
            core='fct_turns', core_where='delexicalized_utterance is not null'),
    counted('actions', count_where('delexed', 'turn', 'turn.targets.action is not null'), conversations, turns,
            ref('int_abcd__actions'), staged_where='act is not null', core='fct_actions'),
    counted('action_values', count_within(list_map('delexed', 'turn', 'turn.targets.values')),
            conversations, ref('stg_abcd__action_values'), ref('int_abcd__slots'),
            core='fct_slots', core_where="annotation_type = 'action_value'"),
    counted('candidates', count_where('delexed', 'turn', "turn.targets.nextstep = 'retrieve_utterance'"),
            conversations, turns, ref('int_abcd__candidates'), staged_where="next_step = 'retrieve_utterance'",
            core='fct_candidates'),
    counted('scenario_values', scenario_values, conversations, ref('stg_abcd__scenario_values'),
            ref('int_abcd__scenario_values'), staged_where='value is not null', core='dim_scenario_values'),
    counted('candidate_utterances', '1', source('raw_abcd', 'abcd__utterances'),
            ref('stg_abcd__candidate_utterances'), ref('stg_abcd__candidate_utterances'), record_entity='utterances',
            core='dim_candidate_utterances'),
    counted('flows', 'cardinality(intents.flows)', ontology, ref('stg_abcd__flows'), ref('stg_abcd__flows'),
            core='dim_flows'),
    counted('intents', count_within('map_values(intents.subflows)'), ontology, ref('stg_abcd__subflows'),
            ref('int_abcd__intents'), staged_where='subflow is not null', core='dim_intents'),
    counted('acts',
            'cardinality(map_keys(actions.kb_query)) + cardinality(map_keys(actions.interaction)) '
                ~ '+ cardinality(map_keys(actions.faq_policy))',
            ontology, ref('stg_abcd__actions'), ref('int_abcd__acts'), conformed_where='act_group is not null',
            core='dim_acts', core_where='act_group is not null'),
    counted('act_slots',
            count_within('map_values(actions.kb_query)') ~ ' + ' ~ count_within('map_values(actions.interaction)')
                ~ ' + ' ~ count_within('map_values(actions.faq_policy)'),
            ontology, ref('stg_abcd__act_slots'), ref('stg_abcd__act_slots'), core='dim_act_slots'),
    counted('slot_definitions',
            'cardinality(map_keys(values.enumerable)) + ' ~ count_within('map_values(values.non_enumerable)'),
            ontology, ref('stg_abcd__slots'), ref('int_abcd__slot_definitions'), staged_where='slot is not null',
            core='dim_slots'),
    counted('vocabulary',
            'cardinality(vocabulary.tokens) + cardinality(vocabulary.special) + cardinality(next_steps)', ontology,
            ref('stg_abcd__vocabulary'), ref('stg_abcd__vocabulary'), core='dim_vocabulary'),
    counted('intent_acts', 'cardinality(value)', source('raw_abcd', 'abcd__kb'), ref('stg_abcd__kb'),
            ref('int_abcd__intent_acts'), staged_where='act is not null', core='dim_intent_acts'),
    counted('guidelines', 'cardinality(map_keys(subflows))', guidelines, ref('stg_abcd__guidelines'),
            ref('int_abcd__guidelines'), staged_where='subflow_title is not null',
            conformed_where='subflow_title is not null', core='dim_guidelines', core_where='subflow_title is not null'),
    counted('guideline_steps',
            count_within(list_map('map_values(subflows)', 'guideline', 'guideline.actions')),
            guidelines, ref('stg_abcd__guideline_steps'), ref('int_abcd__guideline_steps'), core='dim_guideline_steps'),
    counted('dialogue_services', '1', conversations, ref('stg_abcd__conversations'),
            ref('int_abcd__dialogue_services'), core='dim_dialogue_services'),
    counted('scenarios', '1', conversations, ref('stg_abcd__conversations'), ref('int_abcd__scenarios'),
            core='dim_scenarios')
]) }}
