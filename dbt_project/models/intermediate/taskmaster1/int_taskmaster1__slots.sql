{#- Annotation names are `<service>.<label>[.accept|.reject]`. A label that is the service's vertical, or a missing
    label, is about the whole transaction and names no slot. -#}
{{ config(meta={'lacks': ['frame_index', 'action_index', 'value_index', 'integer_value', 'canonical_value']}) }}

with

unsuffixed as (
    select
        *,
        case
            when annotation_name like '%.accept' then 'accept'
            when annotation_name like '%.reject' then 'reject'
        end as status,
        case
            when annotation_name like '%.accept' or annotation_name like '%.reject'
                then substring(annotation_name, 1, length(annotation_name) - 7)
            else annotation_name
        end as qualified_label
    from {{ ref('stg_taskmaster1__annotations') }}
),

parsed as (
    select
        *,
        split_part(qualified_label, '.', 1) as service,
        nullif(substring(qualified_label, length(split_part(qualified_label, '.', 1)) + 2), '') as label
    from unsuffixed
)

select
    dialogues.dialogue_key || '/' || cast(parsed.turn_index as string) || '/span/'
        || cast(parsed.segment_index as string) || '/' || coalesce(cast(parsed.annotation_index as string), '-')
        as slot_key,
    dialogues.dialogue_key || '/' || cast(parsed.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    parsed.turn_index,

    {{ role_of('parsed.speaker', {'USER': 'user', 'ASSISTANT': 'system'}) }} as role,
    'span' as annotation_type,
    parsed.service,
    case when ontology.service is null then parsed.label end as slot_name,
    parsed.annotation_name as source_label,
    parsed.segment_index as span_index,
    parsed.annotation_index,
    parsed.segment_text as value,
    parsed.start_char,
    parsed.end_char,
    parsed.status
from parsed
inner join {{ ref('int_taskmaster1__dialogues') }} as dialogues
    on
        parsed.source_file_id = dialogues.source_file_id
        and parsed.record_index = dialogues.record_index
left join {{ ref('stg_taskmaster1__ontology') }} as ontology
    on
        parsed.service = ontology.service
        and parsed.label = ontology.vertical
        and ontology.service_occurrence = 1
