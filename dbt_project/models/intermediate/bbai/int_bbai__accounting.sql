{%- set questions = source('raw_bbai', 'bbai__questions') -%}

{{ account('bbai', [
    counted('dialogues', '1', questions, ref('stg_bbai__questions'), ref('int_bbai__dialogues'),
            record_entity='questions', core='dim_dialogues'),
    counted('turns', '1', questions, ref('stg_bbai__questions'), ref('int_bbai__turns'), core='fct_turns'),
    counted('votes', '20', questions, ref('stg_bbai__options'), ref('int_bbai__votes'), core='fct_votes'),
    counted('responses', '19', questions, ref('stg_bbai__options'), ref('int_bbai__responses'),
            staged_where='response is not null', core='fct_responses'),
    counted('gold_labels', 'cardinality(human)', questions, ref('stg_bbai__gold_labels'), ref('int_bbai__votes'),
            conformed_where='is_selected', core='fct_votes', core_where='is_selected'),
    counted('classifier_examples', '1', source('raw_bbai', 'bbai__classifier_examples'),
            ref('stg_bbai__classifier_examples'), ref('int_bbai__classifier_examples'),
            record_entity='classifier_examples', core='fct_classifier_examples'),
    counted('agent_descriptions', '1', source('raw_bbai', 'bbai__descriptions'), ref('stg_bbai__descriptions'),
            ref('int_bbai__agents'), conformed_where='description is not null', record_entity='descriptions',
            core='dim_agents', core_where='description is not null'),
    counted('dialogue_services', '1', questions, ref('stg_bbai__questions'), ref('int_bbai__dialogue_services'),
            core='dim_dialogue_services')
]) }}
