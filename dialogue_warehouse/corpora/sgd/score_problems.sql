-- What the official script refuses (without the place), and what it ignores without a message.

-- part: problems
with

dialogues as (
    select *
    from predicted_dialogues
    qualify rank() over (partition by dialogue_id order by record desc) = 1
),

turns as (
    select predicted_turns.*
    from predicted_turns
    semi join dialogues
        on predicted_turns.dialogue_id = dialogues.dialogue_id and predicted_turns.record = dialogues.record
),

frames as (
    select *
    from predicted_frames
    qualify rank() over (partition by dialogue_id order by record desc) = 1
),

gold_services as (
    select
        services.dialogue_key,
        list_sort(list(distinct services.service)) as services
    from dim_dialogue_services as services
    semi join selected on services.dialogue_key = selected.dialogue_key
    group by services.dialogue_key
),

gold_turns as (
    select
        selected.dialogue_id,
        turns.turn_key,
        turns.turn_index,
        turns.source_speaker,
        turns.utterance
    from fct_turns as turns
    inner join selected on turns.dialogue_key = selected.dialogue_key
),

zipped as (
    select
        turns.*,
        gold_turns.turn_key,
        gold_turns.source_speaker,
        gold_turns.utterance as gold_utterance
    from turns
    inner join gold_turns on turns.dialogue_id = gold_turns.dialogue_id and turns.turn_index = gold_turns.turn_index
),

found as (
    select
        true as is_refused,
        'the split has no such dialogue' as problem,
        frames.file, frames.record, frames.position, frames.dialogue_id, null as turn_index,
        null as detail
    from (
        select file, record, position, dialogue_id
        from predicted_dialogues
        union all
        select file, record, position, dialogue_id
        from predicted_frames
    ) as frames
    anti join selected on frames.dialogue_id = selected.dialogue_id

    union all
    select
        true as is_refused,
        'the services are not those of the dialogue' as problem,
        dialogues.file, dialogues.record, dialogues.position, dialogues.dialogue_id, null as turn_index,
        array_to_string(gold_services.services, ', ') || ' expected' as detail
    from dialogues
    inner join selected on dialogues.dialogue_id = selected.dialogue_id
    inner join gold_services on selected.dialogue_key = gold_services.dialogue_key
    where list_sort(list_distinct(dialogues.services)) <> gold_services.services

    union all
    select
        true as is_refused,
        'the speaker is not that of the turn' as problem,
        zipped.file, zipped.record, zipped.position, zipped.dialogue_id, zipped.turn_index,
        zipped.source_speaker || ' expected' as detail
    from zipped
    where zipped.speaker <> zipped.source_speaker

    union all
    select
        true as is_refused,
        'the utterance is not that of the turn' as problem,
        zipped.file, zipped.record, zipped.position, zipped.dialogue_id, zipped.turn_index, null as detail
    from zipped
    where zipped.speaker = 'USER' and zipped.utterance <> zipped.gold_utterance

    union all
    select
        true as is_refused,
        'a frame of the turn is missing' as problem,
        zipped.file, zipped.record, zipped.position, zipped.dialogue_id, zipped.turn_index, cases.service as detail
    from zipped
    inner join cases on zipped.turn_key = cases.turn_key
    anti join latest on cases.unit_key = latest.unit_key
    where zipped.speaker = zipped.source_speaker

    union all
    select
        true as is_refused,
        'a frame cannot be read' as problem,
        latest.file, latest.record, latest.position, latest.dialogue_id, latest.turn_index,
        latest.service || ': ' || latest.error as detail
    from latest
    where latest.error is not null

    union all
    select
        true as is_refused,
        'a value has no item: the official script cannot compare it' as problem,
        values_placed.file, record, position, values_placed.dialogue_id, values_placed.turn_index,
        values_placed.given.slot as detail
    from values_placed
    where values_placed.given.form = 'none' and values_placed.in_gold

    union all
    select
        false as is_refused,
        'a dialogue is predicted again: the last prediction counts' as problem,
        dialogues.file, dialogues.record, dialogues.position, dialogues.dialogue_id, null as turn_index,
        null as detail
    from dialogues
    semi join predicted_dialogues as others
        on dialogues.dialogue_id = others.dialogue_id and dialogues.record <> others.record

    union all
    select
        false as is_refused,
        'a dialogue has more turns than gold: they are not counted' as problem,
        any_value(turns.file) as file,
        any_value(turns.record) as record,
        min(turns.position) as position,
        turns.dialogue_id,
        min(turns.turn_index) as turn_index,
        null as detail
    from turns
    semi join selected on turns.dialogue_id = selected.dialogue_id
    anti join gold_turns on turns.dialogue_id = gold_turns.dialogue_id and turns.turn_index = gold_turns.turn_index
    group by turns.dialogue_id

    union all
    select
        false as is_refused,
        'a frame of a service or turn that gold does not have is not counted' as problem,
        frames.file, frames.record, frames.position, frames.dialogue_id, frames.turn_index, frames.service as detail
    from frames
    semi join selected on frames.dialogue_id = selected.dialogue_id
    anti join cases
        on frames.dialogue_id = cases.dialogue_id
        and frames.turn_index = cases.turn_index
        and frames.service = cases.service

    union all
    select
        false as is_refused,
        'a frame is predicted twice: the last one counts' as problem,
        frames.file, frames.record, frames.position, frames.dialogue_id, frames.turn_index, frames.service as detail
    from frames
    qualify
        row_number() over (
            partition by frames.dialogue_id, frames.turn_index, frames.service order by frames.position
        ) = 2

    union all
    select
        false as is_refused,
        'spans are missing: the frame is not counted in slot_tagging' as problem,
        frames.file, frames.record, frames.position, frames.dialogue_id, frames.turn_index, frames.service as detail
    from frames
    where frames.spans is null

    union all
    select
        false as is_refused,
        case frames.requested_form
            when 'null' then 'requested_slots is null, which counts as no slot'
            else 'requested_slots is a text, whose letters count as slots'
        end as problem,
        frames.file, frames.record, frames.position, frames.dialogue_id, frames.turn_index, frames.service as detail
    from frames
    where frames.requested_form <> 'list'

    union all
    select
        false as is_refused,
        unknown_labels.problem,
        file, record, position, dialogue_id, turn_index, unknown_labels.label as detail
    from unknown_labels

    union all
    select
        false as is_refused,
        'a value is unknown to its categorical slot: it counts as wrong' as problem,
        values_placed.file, record, position, values_placed.dialogue_id, values_placed.turn_index,
        concat_ws(', ', values_placed.given.slot, coalesce(nullif(values_placed.given.value, ''), 'an empty text'))
            as detail
    from values_placed
    where values_placed.is_unlisted

    union all
    select
        false as is_refused,
        case
            when not values_placed.is_known then 'a slot is unknown to its service: it is not counted'
            when values_placed.given.form = 'text'
                then 'a value is a text, not a list: only its first letter is compared'
            when values_placed.given.form = 'none' then 'a value has no item: it counts as a wrong value'
            when not values_placed.given.is_text then 'a value is not a string'
            else 'a slot has several values: only the first is compared'
        end as problem,
        values_placed.file, record, position, values_placed.dialogue_id, values_placed.turn_index,
        values_placed.given.slot as detail
    from values_placed
    where
        not values_placed.is_known
        or values_placed.given.form <> 'list'
        or not values_placed.given.is_text
        or (values_placed.given.value_count > 1 and not values_placed.is_right)
)

select
    found.is_refused,
    found.problem,
    found.file,
    concat('dialogue ', found.dialogue_id, ', turn ' || found.turn_index, ', ' || found.detail) as place,
    found.record,
    found.position
from found
