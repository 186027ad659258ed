-- How a dialogue of ABCD becomes chat messages. `batch` holds the dialogue_key of the requested dialogues.
-- A button is a tool. The text that the publisher shows for it is its result. The values of a button have no names in
-- the release, so they are one list.

-- part: messages
with

turns as (
    select
        turns.dialogue_key,
        turns.turn_index,
        turns.turn_key,
        turns.role,
        turns.event_type,
        turns.utterance
    from fct_turns as turns
    semi join batch on turns.dialogue_key = batch.dialogue_key
),

steps as (
    select
        steps.guideline_key,
        string_agg(
            concat(
                steps.step_index + 1,
                '. ',
                if(steps.button is null, '', '[' || steps.button || '] '),
                steps.text,
                array_to_string(list_transform(steps.subtext, lambda line : chr(10) || '   - ' || line), '')
            ),
            chr(10)
            order by steps.step_index
        ) as text
    from dim_guideline_steps as steps
    group by steps.guideline_key
),

guidelines as (
    select
        guidelines.intent,
        concat_ws(
            chr(10),
            guidelines.flow_title || ': ' || guidelines.subflow_title,
            array_to_string(guidelines.instructions, chr(10)),
            steps.text
        ) as text
    from dim_guidelines as guidelines
    left join steps on guidelines.guideline_key = steps.guideline_key
    where guidelines.corpus_id = 'abcd'
    qualify
        row_number() over (
            partition by guidelines.intent order by guidelines.position, guidelines.guideline_key
        ) = 1
)

select
    turns.dialogue_key,
    cast(null as varchar) as variant,
    turns.turn_index,
    actions.action_index as place,
    turns.turn_key,
    'call' as role,
    coalesce(turns.utterance, '') as content,
    actions.act as call_name,
    json_object('values', coalesce(actions.action_values, [])) as arguments
from turns
inner join fct_actions as actions on turns.turn_key = actions.turn_key
where turns.event_type = 'action' and actions.act is not null

union all

select
    turns.dialogue_key,
    cast(null as varchar) as variant,
    turns.turn_index,
    cast(null as integer) as place,
    turns.turn_key,
    if(turns.role = 'user', 'user', 'assistant') as role,
    turns.utterance as content,
    cast(null as varchar) as call_name,
    cast(null as json) as arguments
from turns
where turns.event_type = 'utterance' and turns.role in ('user', 'system')

union all

select
    dialogues.dialogue_key,
    cast(null as varchar) as variant,
    cast(null as integer) as turn_index,
    cast(null as integer) as place,
    cast(null as varchar) as turn_key,
    'instructions' as role,
    guidelines.text as content,
    cast(null as varchar) as call_name,
    cast(null as json) as arguments
from dim_dialogues as dialogues
semi join batch on dialogues.dialogue_key = batch.dialogue_key
inner join guidelines on dialogues.task = guidelines.intent

-- part: tool_sets
select
    batch.dialogue_key,
    'all buttons' as tool_set
from batch

-- part: tools
with

slots as (
    select
        slots.act,
        string_agg(slots.slot, ', ' order by slots.position) as names
    from dim_act_slots as slots
    where slots.corpus_id = 'abcd' and slots.act_occurrence = 1
    group by slots.act
),

buttons as (
    select
        acts.act,
        row_number() over (order by acts.act_group, acts.position, acts.act) as position,
        concat(
            coalesce(acts.description, 'Button of the agent'),
            coalesce(', group ' || acts.act_group, ''),
            '.'
        ) as description,
        coalesce('One or more of: ' || slots.names || '.', 'The values that the agent enters.') as values_description
    from dim_acts as acts
    left join slots on acts.act = slots.act
    where acts.corpus_id = 'abcd' and acts.action_type = 'button' and acts.act_occurrence = 1
)

select
    batch.dialogue_key,
    buttons.position,
    buttons.act as name,
    buttons.description,
    json_object(
        'type', 'object',
        'properties', json_object(
            'values', json_object(
                'type', 'array',
                'items', json_object('type', 'string'),
                'description', buttons.values_description
            )
        ),
        'required', ['values']
    ) as parameters
from batch
cross join buttons
