-- Rebuilds the Taskmaster-1 release from core. `batch` holds the source_file_id of the requested files.

-- entity: dialogs
with

dialogs as (
    select
        dialogues.dialogue_key,
        dialogues.source_file_id,
        dialogues.record_index,
        dialogues.dialogue_id,
        dialogues.source_task
    from dim_dialogues as dialogues
    semi join batch on dialogues.source_file_id = batch.source_file_id
),

segments as (
    select
        slots.turn_key,
        slots.span_index,
        {
            'start_index': any_value(slots.start_char),
            'end_index': any_value(slots.end_char),
            'text': any_value(slots.value),
            'annotations': coalesce(
                list({'name': slots.source_label} order by slots.annotation_index)
                filter (where slots.annotation_index is not null),
                []
            )
        } as segment
    from fct_slots as slots
    semi join dialogs on slots.dialogue_key = dialogs.dialogue_key
    group by slots.turn_key, slots.span_index
),

segments_of_turn as (
    select
        turn_key,
        list(segment order by span_index) as segments
    from segments
    group by turn_key
),

utterances as (
    select
        turns.dialogue_key,
        list(
            case
                when turns.segment_count is null
                    then to_json({
                        'index': turns.source_turn_number,
                        'speaker': turns.source_speaker,
                        'text': turns.utterance
                    })
                else to_json({
                    'index': turns.source_turn_number,
                    'speaker': turns.source_speaker,
                    'text': turns.utterance,
                    'segments': coalesce(segments_of_turn.segments, [])
                })
            end
            order by turns.turn_index
        ) as utterances
    from fct_turns as turns
    semi join dialogs on turns.dialogue_key = dialogs.dialogue_key
    left join segments_of_turn on turns.turn_key = segments_of_turn.turn_key
    group by turns.dialogue_key
)

select
    dialogs.source_file_id,
    dialogs.record_index,
    null as record_key,
    to_json({
        'conversation_id': dialogs.dialogue_id,
        'instruction_id': dialogs.source_task,
        'utterances': coalesce(utterances.utterances, [])
    }) as record
from dialogs
left join utterances on dialogs.dialogue_key = utterances.dialogue_key

-- entity: ontology
with

labels as (
    select
        regexp_replace(slot_definition_key, '/slot/[^/]*/[^/]*$', '') as service_definition_key,
        service,
        coalesce(list(slot order by position) filter (where requirement = 'required'), []) as required,
        coalesce(list(slot order by position) filter (where requirement = 'optional'), []) as optional
    from dim_slots
    where corpus_id = 'taskmaster1'
    group by service_definition_key, service
)

select
    batch.source_file_id,
    services.position as record_index,
    services.source_name as record_key,
    to_json({
        'id': services.service,
        'vertical': services.vertical,
        'required': coalesce(labels.required, []),
        'optional': coalesce(labels.optional, [])
    }) as record
from dim_services as services
cross join batch
left join labels
    on services.service_definition_key = labels.service_definition_key and services.service = labels.service
where services.corpus_id = 'taskmaster1'

-- entity: split_members
select
    members.source_file_id,
    members.record_index,
    null as record_key,
    to_json({'value': members.dialogue_id}) as record
from dim_split_members as members
semi join batch on members.source_file_id = batch.source_file_id
