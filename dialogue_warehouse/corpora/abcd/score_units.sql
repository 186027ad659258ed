-- The predictions for ABCD, judged. `cases` has the examples, `predicted_examples` the predictions.

-- part: latest
select *
from predicted_examples
qualify row_number() over (partition by dialogue_id, turn_number, step, value_index order by position desc) = 1

-- The parts of each example that are right. An action without a value is never right as a whole.
-- part: judged
select
    cases.*,
    latest.dialogue_id is not null as is_predicted,
    coalesce(latest.intent = cases.intent, false) as is_intent_right,
    coalesce(latest.next_step = cases.next_step, false) as is_next_step_right,
    coalesce(latest.action = cases.act, false) as is_action_right,
    coalesce(latest.value = cases.label, false) as is_value_right,
    list_position(latest.ranking, cases.target_position) as target_rank,
    latest.action as predicted_action,
    latest.value as predicted_value
from cases
left join latest
    on cases.dialogue_id = latest.dialogue_id
    and cases.turn_number = latest.turn_number
    and cases.step = latest.step
    and cases.value_index = latest.value_index

-- part: units
with

-- Without the turns that do not count: these neither break a cascade nor are examples of it.
whole as (
    select
        * replace (row_number() over (partition by task, dialogue_key order by place) as place),
        case next_step
            when 'take_action' then act is not null and is_action_right and is_value_right
            when 'retrieve_utterance' then coalesce(target_rank = 1, false)
            else next_step = 'end_conversation'
        end and is_intent_right and is_next_step_right as is_right
    from judged
    anti join left_out on judged.turn_key = left_out.turn_key
),

-- The number of examples that are right from here on, without a break.
breaks as (
    select
        *,
        max(place) over of_dialogue as last_place,
        min(if(is_right, null, place)) over from_here as first_wrong
    from whole
    window
        of_dialogue as (partition by task, dialogue_key),
        from_here as (
            partition by task, dialogue_key order by place rows between current row and unbounded following
        )
),

measured as (
    select
        unit_key,
        task,
        is_predicted,
        unnest(map_entries(map {
            'ast_action_accuracy': is_action_right::double,
            'ast_value_accuracy': is_value_right::double,
            'ast_joint_accuracy': (is_action_right and is_value_right)::double,
            'cds_intent_accuracy': is_intent_right::double,
            'cds_next_step_accuracy': is_next_step_right::double,
            'cds_action_accuracy': if(act is null, null, is_action_right::double),
            'cds_value_accuracy': if(label is null, null, is_value_right::double),
            'cds_joint_accuracy': if(act is null, null, (is_action_right and is_value_right)::double),
            'cds_recall_at_1': if(target_position is null, null, coalesce(target_rank <= 1, false)::double),
            'cds_recall_at_5': if(target_position is null, null, coalesce(target_rank <= 5, false)::double),
            'cds_recall_at_10': if(target_position is null, null, coalesce(target_rank <= 10, false)::double),
            'cds_turn_accuracy': is_right::double,
            'cds_cascading_score': (coalesce(first_wrong, last_place + 1) - place) / (last_place + 1 - place)
        })) as measure
    from breaks
)

select
    unit_key,
    measure.key as metric,
    null as variant,
    is_predicted as is_scored,
    measure.value as numerator,
    1.0 as denominator
from measured
where starts_with(measure.key, task) and measure.value is not null

-- What happened to each action and its value.
-- part: slots
select
    judged.dialogue_key,
    judged.turn_key,
    judged.act as service,
    'action' as slot,
    if(judged.is_action_right, 'right', if(judged.predicted_action is null, 'missed', 'wrong')) as outcome,
    judged.act as gold,
    judged.predicted_action as predicted,
    judged.turn_key as example_key
from judged
where judged.task = 'cds' and judged.act is not null and judged.is_predicted

union all
select
    judged.dialogue_key,
    judged.turn_key,
    judged.act as service,
    'value' as slot,
    if(judged.is_value_right, 'right', if(judged.predicted_value is null, 'missed', 'wrong')) as outcome,
    judged.label as gold,
    judged.predicted_value as predicted,
    judged.turn_key as example_key
from judged
where judged.task = 'cds' and judged.label is not null and judged.is_predicted
