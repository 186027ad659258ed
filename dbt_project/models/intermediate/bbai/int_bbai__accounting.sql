{%- set questions = source('raw_bbai', 'bbai__questions') -%}

{{ account('bbai', 'dialogues', '1', questions, ref('stg_bbai__questions'), ref('int_bbai__dialogues'),
           record_entity='questions') }}
union all
{{ account('bbai', 'turns', '1', questions, ref('stg_bbai__questions'), ref('int_bbai__turns')) }}
union all
{{ account('bbai', 'votes', '20', questions, ref('stg_bbai__options'), ref('int_bbai__votes')) }}
union all
{{ account('bbai', 'responses', '19', questions, ref('stg_bbai__options'), ref('int_bbai__responses'),
           staged_where='response is not null') }}
union all
{{ account('bbai', 'gold_labels', 'cardinality(human)', questions, ref('stg_bbai__gold_labels'), ref('int_bbai__votes'),
           conformed_where='is_selected') }}
union all
{{ account('bbai', 'classifier_examples', '1', source('raw_bbai', 'bbai__classifier_examples'),
           ref('stg_bbai__classifier_examples'), ref('int_bbai__classifier_examples'),
           record_entity='classifier_examples') }}
union all
{{ account('bbai', 'agent_descriptions', '1', source('raw_bbai', 'bbai__descriptions'), ref('stg_bbai__descriptions'),
           ref('int_bbai__agents'), conformed_where='description is not null', record_entity='descriptions') }}
union all
{{ account('bbai', 'dialogue_services', '1', questions, ref('stg_bbai__questions'),
           ref('int_bbai__dialogue_services')) }}
