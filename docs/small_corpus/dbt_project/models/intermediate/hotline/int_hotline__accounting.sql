{%- set calls = source('raw_hotline', 'hotline__calls') -%}

{{ account('hotline', [
    counted('dialogues', '1', calls, ref('stg_hotline__calls'), ref('int_hotline__dialogues'), record_entity='calls',
            core='dim_dialogues'),
    counted('dialogue_services', '1', calls, ref('stg_hotline__calls'), ref('int_hotline__dialogue_services'),
            core='dim_dialogue_services'),
    counted('turns', 'cardinality(turns)', calls, ref('stg_hotline__turns'), ref('int_hotline__turns'),
            core='fct_turns')
]) }}
