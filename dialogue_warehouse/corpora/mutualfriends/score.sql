-- The statistics of transcripts. `predicted_transcripts` and `predicted_events` have them, joined by `record`.

-- One row per transcript. Its key is its uuid, escaped as in other keys, with a number if the uuid occurs again.
-- part: cases
with

counted as (
    select
        events.record,
        count(*) as turns,
        count(*) filter (where events.action = 'select') as selects,
        count(*) filter (where events.action = 'message') as messages,
        coalesce(sum(len(regexp_extract_all(events.message, '[^\s\x0b\x1c-\x1f\x{85}\p{Z}]+')))
            filter (where events.action = 'message'), 0) as words,
        arg_max(events.seconds, events.event_index) - arg_min(events.seconds, events.event_index) as seconds
    from predicted_events as events
    group by events.record
),

numbered as (
    select
        transcripts.*,
        replace(replace(replace(transcripts.uuid, '%', '%25'), '/', '%2F'), '~', '%7E') as segment,
        row_number() over (partition by transcripts.uuid order by transcripts.record) as occurrence
    from predicted_transcripts as transcripts
)

select
    numbered.segment || if(numbered.occurrence = 1, '', '~' || numbered.occurrence) as unit_key,
    numbered.segment || if(numbered.occurrence = 1, '', '~' || numbered.occurrence) as dialogue_key,
    cast(null as varchar) as turn_key,
    ['#ALL'] as groups,
    coalesce(numbered.reward = 1, false) as is_completed,
    numbered.reward is not null as has_outcome,
    coalesce(counted.turns, 0) as turns,
    coalesce(counted.selects, 0) as selects,
    coalesce(counted.messages, 0) as messages,
    coalesce(counted.words, 0) as words,
    coalesce(counted.seconds, 0) as seconds
from numbered
left join counted on numbered.record = counted.record

-- part: units
with

measured as (
    select
        cases.unit_key,
        unnest([
            {'metric': 'completion_rate', 'numerator': is_completed::double, 'denominator': 1.0},
            {'metric': 'success_per_turn', 'numerator': is_completed::double, 'denominator': turns::double},
            {'metric': 'success_per_select', 'numerator': is_completed::double, 'denominator': selects::double},
            {'metric': 'average_time', 'numerator': seconds, 'denominator': if(is_completed, 1.0, null)},
            {'metric': 'average_turns', 'numerator': turns::double, 'denominator': if(is_completed, 1.0, null)},
            {
                'metric': 'average_sentence_length',
                'numerator': words::double,
                'denominator': if(is_completed, messages::double, null)
            },
            {'metric': 'average_selects', 'numerator': selects::double, 'denominator': if(has_outcome, 1.0, null)}
        ]) as measure
    from cases
)

select
    measured.unit_key,
    measured.measure.metric as metric,
    null as variant,
    true as is_scored,
    measured.measure.numerator as numerator,
    measured.measure.denominator as denominator
from measured
where measured.measure.denominator is not null

-- part: problems
with

selected_last as (
    select
        record,
        agent,
        arg_max_null(selection, event_index) as selection
    from predicted_events
    where action = 'select'
    group by record, agent
),

agreed as (
    select
        record,
        count(*) = 2 and count(distinct selection) = 1 and count(selection) = 2 as is_agreed
    from selected_last
    group by record
),

found as (
    select
        'the outcome is missing: the transcript counts as not completed' as problem,
        transcripts.*
    from predicted_transcripts as transcripts
    where transcripts.reward is null

    union all
    select
        'the last selections do not agree with the outcome: the outcome counts' as problem,
        transcripts.*
    from predicted_transcripts as transcripts
    left join agreed on transcripts.record = agreed.record
    where (transcripts.reward = 1) <> coalesce(agreed.is_agreed, false)

    union all
    select
        'a transcript has the uuid of another one: both count' as problem,
        transcripts.*
    from predicted_transcripts as transcripts
    qualify row_number() over (partition by transcripts.uuid order by transcripts.record) = 2
)

select
    false as is_refused,
    found.problem,
    found.file,
    'transcript ' || found.uuid as place,
    found.record,
    found.position
from found

-- The people's dialogues as transcripts.
-- part: gold_predicted_transcripts
select
    '' as file,
    row_number() over (order by selected.dialogue_key) as record,
    0 as position,
    selected.dialogue_id as uuid,
    dialogues.outcome_reward as reward
from selected
inner join dim_dialogues as dialogues on selected.dialogue_key = dialogues.dialogue_key

-- part: gold_predicted_events
with

numbered as (
    select
        selected.dialogue_key,
        row_number() over (order by selected.dialogue_key) as record
    from selected
),

selections as (
    select
        slots.turn_key,
        to_json(map(
            list(slots.slot_name order by slots.slot_name), list(slots.value order by slots.slot_name)
        )) as selection
    from fct_slots as slots
    inner join selected on slots.dialogue_key = selected.dialogue_key
    where slots.annotation_type = 'selection'
    group by slots.turn_key
)

select
    '' as file,
    numbered.record,
    0 as position,
    turns.turn_index as event_index,
    turns.source_event_type as action,
    cast(turns.source_speaker as integer) as agent,
    turns.utterance as message,
    cast(selections.selection as varchar) as selection,
    cast(turns.source_time as double) as seconds
from fct_turns as turns
inner join numbered on turns.dialogue_key = numbered.dialogue_key
left join selections on turns.turn_key = selections.turn_key

-- The same record in both forms.
-- part: example
select
    json_object(
        'uuid', transcripts.uuid,
        'outcome', case when transcripts.reward is not null then json_object('reward', transcripts.reward) end,
        'events', coalesce(
            list(json_object(
                'action', events.action,
                'agent', events.agent,
                'data', coalesce(cast(events.selection as json), to_json(events.message)),
                'time', printf('%.1f', events.seconds)
            ) order by events.event_index) filter (where events.record is not null),
            []
        )
    ) as record
from predicted_transcripts as transcripts
left join predicted_events as events on transcripts.record = events.record
group by transcripts.record, transcripts.uuid, transcripts.reward
order by transcripts.record
