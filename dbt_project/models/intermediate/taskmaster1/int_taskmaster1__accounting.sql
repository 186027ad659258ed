{%- set dialogs = source('raw_taskmaster1', 'taskmaster1__dialogs') -%}
{%- set ontology = source('raw_taskmaster1', 'taskmaster1__ontology') -%}
{%- set segments = 'flatten(' ~ list_map('utterances', 'utterance', 'utterance.segments') ~ ')' -%}
{%- set annotations = ref('stg_taskmaster1__annotations') -%}
{%- set slots = ref('int_taskmaster1__slots') -%}

{{ account('taskmaster1', 'dialogues', '1', dialogs, ref('stg_taskmaster1__dialogs'),
           ref('int_taskmaster1__dialogues'), record_entity='dialogs') }}
union all
{{ account('taskmaster1', 'turns', 'cardinality(utterances)', dialogs, ref('stg_taskmaster1__utterances'),
           ref('int_taskmaster1__turns')) }}
union all
{{ account('taskmaster1', 'segments', 'cardinality(' ~ segments ~ ')', dialogs, annotations, slots,
           staged_where='coalesce(annotation_index, 0) = 0', conformed_where='coalesce(annotation_index, 0) = 0') }}
union all
{{ account('taskmaster1', 'annotations',
           'cardinality(flatten(' ~ list_map(segments, 'segment', 'segment.annotations') ~ '))', dialogs, annotations,
           slots, staged_where='annotation_index is not null', conformed_where='annotation_index is not null') }}
union all
{{ account('taskmaster1', 'services', '1', ontology, ref('stg_taskmaster1__ontology'), ref('int_taskmaster1__services'),
           record_entity='ontology') }}
union all
{{ account('taskmaster1', 'slot_definitions', 'cardinality(required) + cardinality(optional)', ontology,
           ref('stg_taskmaster1__ontology_labels'), ref('int_taskmaster1__slot_definitions')) }}
union all
{{ account('taskmaster1', 'split_members', '1', source('raw_taskmaster1', 'taskmaster1__split_members'),
           ref('stg_taskmaster1__split_members'), ref('int_taskmaster1__split_members'),
           record_entity='split_members') }}
union all
{{ account('taskmaster1', 'dialogue_services', '1', dialogs, ref('stg_taskmaster1__dialogs'),
           ref('int_taskmaster1__dialogue_services')) }}
