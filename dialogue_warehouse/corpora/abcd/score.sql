-- Gold of ABCD as the examples of the publisher's processor, with words as tokens. `selected` has the dialogues.

-- The turns, with the button of an action. The processor looks for a button in no other turn.
-- part: acts_in_order
select
    turns.dialogue_key,
    selected.dialogue_id,
    turns.turn_key,
    turns.turn_index,
    turns.source_turn_number as turn_number,
    turns.source_speaker,
    turns.intent,
    turns.next_step,
    turns.delexicalized_utterance as text,
    actions.act,
    actions.action_values,
    candidates.target_position
from fct_turns as turns
inner join selected on turns.dialogue_key = selected.dialogue_key
left join fct_actions as actions
    on turns.turn_key = actions.turn_key and actions.action_type = 'button' and turns.source_speaker = 'action'
left join fct_candidates as candidates on turns.turn_key = candidates.turn_key

-- The tokens that replace a value, with the turn of their first occurrence and its place among all tokens of three
-- characters or more, each counted once. In AST an action is its name, in CDS its text.
-- part: heard
with

texts as (
    select
        'ast' as task,
        dialogue_key,
        turn_index,
        if(source_speaker = 'action', act, text) as text
    from acts_in_order
    union all
    select
        'cds' as task,
        dialogue_key,
        turn_index,
        text
    from acts_in_order
),

split as (
    select
        task,
        dialogue_key,
        turn_index,
        regexp_extract_all(text, '<[\p{L}\p{N}_]+>|[\p{L}\p{N}_]+') as tokens
    from texts
),

tokens as (
    select
        task,
        dialogue_key,
        turn_index,
        unnest(tokens) as token,
        generate_subscripts(tokens, 1) as position
    from split
),

firsts as (
    select
        task,
        dialogue_key,
        token,
        min((turn_index, position)) as place
    from tokens
    where length(token) > 2
    group by task, dialogue_key, token
)

select
    task,
    dialogue_key,
    token,
    place[1] as turn_index,
    row_number() over (partition by task, dialogue_key order by place) as rank
from firsts

-- The value of each action that the metrics compare: of the first slot of the action that lists it, or whose token was
-- in the turns before. The processor keeps the last 97 tokens, less those of the action.
-- part: labels
with

actions as (
    select
        acts_in_order.*,
        tasks.task,
        97 - if(tasks.task = 'ast' and act in ('verify-identity', 'validate-purchase'), 1, 0)
        - len(regexp_extract_all(act, '[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]')) as remembered,
        case
            when act in ('verify-identity', 'validate-purchase') then list_slice(action_values, 1, 3)
            when act in (select act_slots.act from dim_act_slots as act_slots where act_slots.corpus_id = 'abcd')
                and len(action_values) > 0 then list_slice(action_values, 1, 1)
            else [null]
        end as scored_values
    from acts_in_order
    cross join (values ('ast'), ('cds')) as tasks (task)
    where act is not null
),

given as (
    select
        actions.*,
        unnest(actions.scored_values) as value,
        generate_subscripts(actions.scored_values, 1) - 1 as value_index
    from actions
),

contexts as (
    select
        given.task,
        given.turn_key,
        count(distinct heard.rank) as heard
    from given
    left join heard
        on given.task = heard.task and given.dialogue_key = heard.dialogue_key and heard.turn_index < given.turn_index
    group by given.task, given.turn_key
),

fitting as (
    select
        given.task,
        given.turn_key,
        given.value_index,
        act_slots.position,
        if(
            slots.is_categorical,
            list_filter(
                list_transform(slots.possible_values, lambda one : lower(one)), lambda one : one = given.value
            )[1],
            heard.token
        ) as label
    from given
    inner join contexts on given.task = contexts.task and given.turn_key = contexts.turn_key
    inner join dim_act_slots as act_slots on given.act = act_slots.act and act_slots.corpus_id = 'abcd'
    left join dim_slots as slots
        on act_slots.slot = slots.slot and slots.corpus_id = 'abcd' and slots.is_categorical
    left join heard
        on given.task = heard.task
        and given.dialogue_key = heard.dialogue_key
        and heard.token = '<' || act_slots.slot || '>'
        and heard.turn_index < given.turn_index
        and heard.rank > contexts.heard - given.remembered
    where given.value is not null
)

select
    given.task,
    given.turn_key,
    given.value_index,
    any_value(given.value is not null) as has_value,
    arg_min(fitting.label, fitting.position) filter (where fitting.label is not null) as label
from given
left join fitting
    on given.task = fitting.task and given.turn_key = fitting.turn_key and given.value_index = fitting.value_index
group by given.task, given.turn_key, given.value_index

-- The examples. `place` is their order in the dialogue.
-- part: cases
with

ends as (
    select *
    from acts_in_order
    qualify row_number() over (partition by dialogue_key order by turn_index desc) = 1
),

examples as (
    select
        acts.*,
        labels.task,
        'turn' as step,
        labels.value_index,
        labels.label
    from acts_in_order as acts
    inner join labels on acts.turn_key = labels.turn_key
    where labels.task = 'cds' or labels.label is not null or not labels.has_value

    union all
    select
        acts.*,
        'cds' as task,
        'turn' as step,
        0 as value_index,
        null as label
    from acts_in_order as acts
    where acts.source_speaker = 'agent'

    union all
    select
        ends.* replace ('end_conversation' as next_step, null as act, null as target_position),
        'cds' as task,
        'end' as step,
        0 as value_index,
        null as label
    from ends
)

select
    concat_ws('/', turn_key, task, step, value_index) as unit_key,
    dialogue_key,
    turn_key,
    dialogue_id,
    turn_number,
    task,
    step,
    value_index,
    intent,
    next_step,
    act,
    label,
    if(target_position >= 0, target_position, null) as target_position,
    row_number() over (
        partition by task, dialogue_key order by turn_number, step = 'end', turn_index, value_index
    ) as place,
    list_filter(['#ALL', intent], lambda name : name is not null) as groups
from examples
