-- Gold as predictions, and predictions as records of each form.

-- part: gold_predicted_dialogues
select
    '' as file,
    0 as record,
    0 as position,
    selected.dialogue_id,
    list(distinct services.service order by services.service) as services
from dim_dialogue_services as services
inner join selected on services.dialogue_key = selected.dialogue_key
group by selected.dialogue_id

-- part: gold_predicted_turns
select
    '' as file,
    0 as record,
    0 as position,
    selected.dialogue_id,
    turns.turn_index,
    turns.source_speaker as speaker,
    turns.utterance
from fct_turns as turns
inner join selected on turns.dialogue_key = selected.dialogue_key

-- part: gold_predicted_frames
with

states as (
    select
        gold_values.unit_key,
        list({
            'slot': gold_values.slot,
            'value': gold_values.gold_values[1],
            'is_text': true,
            'form': 'list',
            'value_count': 1
        } order by gold_values.slot) as slot_values
    from gold_values
    group by gold_values.unit_key
),

spans as (
    select
        cases.unit_key,
        list({
            'slot': slots.slot_name,
            'start': slots.start_char,
            'exclusive_end': slots.end_char
        } order by slots.span_index) as spans
    from fct_slots as slots
    inner join cases on slots.turn_key = cases.turn_key and slots.frame_index = cases.frame_index
    where slots.annotation_type = 'span'
    group by cases.unit_key
)

select
    '' as file,
    0 as record,
    0 as position,
    cases.dialogue_id,
    cases.turn_index,
    cases.service,
    cases.active_intent,
    cases.requested_slots,
    'list' as requested_form,
    coalesce(states.slot_values, []) as slot_values,
    coalesce(spans.spans, []) as spans
from cases
left join states on cases.unit_key = states.unit_key
left join spans on cases.unit_key = spans.unit_key

-- part: example_official
with

frames as (
    select
        predicted_frames.dialogue_id,
        predicted_frames.turn_index,
        list(json_object(
            'service', predicted_frames.service,
            'slots', predicted_frames.spans,
            'state', json_object(
                'active_intent', predicted_frames.active_intent,
                'requested_slots', predicted_frames.requested_slots,
                'slot_values', to_json(map_from_entries(list_transform(
                    predicted_frames.slot_values, lambda one : {'key': one.slot, 'value': [one.value]}
                )))
            )
        ) order by predicted_frames.service) as frames
    from predicted_frames
    group by predicted_frames.dialogue_id, predicted_frames.turn_index
),

turns as (
    select
        predicted_turns.dialogue_id,
        list(json_object(
            'speaker', predicted_turns.speaker,
            'utterance', predicted_turns.utterance,
            'frames', coalesce(frames.frames, [])
        ) order by predicted_turns.turn_index) as turns
    from predicted_turns
    left join frames
        on predicted_turns.dialogue_id = frames.dialogue_id and predicted_turns.turn_index = frames.turn_index
    group by predicted_turns.dialogue_id
)

select
    json_object(
        'dialogue_id', dialogues.dialogue_id,
        'services', dialogues.services,
        'turns', turns.turns
    ) as record
from predicted_dialogues as dialogues
inner join turns on dialogues.dialogue_id = turns.dialogue_id
order by dialogues.dialogue_id

-- part: example_lines
select
    json_object(
        'dialogue_id', frames.dialogue_id,
        'turn_index', frames.turn_index,
        'service', frames.service,
        'active_intent', frames.active_intent,
        'requested_slots', frames.requested_slots,
        'slot_values', to_json(map_from_entries(list_transform(
            frames.slot_values, lambda one : {'key': one.slot, 'value': one.value}
        ))),
        'spans', frames.spans
    ) as record
from predicted_frames as frames
order by frames.dialogue_id, frames.turn_index, frames.service
