{%- set dialogs = source('raw_taskmaster1', 'taskmaster1__dialogs') -%}
{%- set ontology = source('raw_taskmaster1', 'taskmaster1__ontology') -%}
{%- set segments = list_flatten(list_map('utterances', 'utterance', 'utterance.segments')) -%}
{%- set annotations = ref('stg_taskmaster1__annotations') -%}
{%- set slots = ref('int_taskmaster1__slots') -%}

{{ account('taskmaster1', [
    counted('dialogues', '1', dialogs, ref('stg_taskmaster1__dialogs'), ref('int_taskmaster1__dialogues'),
            record_entity='dialogs', core='dim_dialogues'),
    counted('turns', 'cardinality(utterances)', dialogs, ref('stg_taskmaster1__utterances'),
            ref('int_taskmaster1__turns'), core='fct_turns'),
    counted('segments', 'cardinality(' ~ segments ~ ')', dialogs, annotations, slots,
            staged_where='coalesce(annotation_index, 0) = 0', conformed_where='coalesce(annotation_index, 0) = 0',
            core='fct_slots', core_where="annotation_type = 'span' and coalesce(annotation_index, 0) = 0"),
    counted('annotations', count_within(list_map(segments, 'segment', 'segment.annotations')),
            dialogs, annotations, slots, staged_where='annotation_index is not null',
            conformed_where='annotation_index is not null',
            core='fct_slots', core_where="annotation_type = 'span' and annotation_index is not null"),
    counted('services', '1', ontology, ref('stg_taskmaster1__ontology'), ref('int_taskmaster1__services'),
            record_entity='ontology', core='dim_services'),
    counted('slot_definitions', 'cardinality(required) + cardinality(optional)', ontology,
            ref('stg_taskmaster1__ontology_labels'), ref('int_taskmaster1__slot_definitions'), core='dim_slots'),
    counted('split_members', '1', source('raw_taskmaster1', 'taskmaster1__split_members'),
            ref('stg_taskmaster1__split_members'), ref('int_taskmaster1__split_members'),
            record_entity='split_members', core='dim_split_members'),
    counted('dialogue_services', '1', dialogs, ref('stg_taskmaster1__dialogs'),
            ref('int_taskmaster1__dialogue_services'), core='dim_dialogue_services')
]) }}
