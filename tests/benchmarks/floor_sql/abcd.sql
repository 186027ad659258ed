-- entity: conversations
create temp table conversations as
select part, record.*
from read_json(getvariable('files'), format = 'newline_delimited', columns = {
    part: 'varchar',
    record: 'struct(
        convo_id integer,
        scenario struct(
            personal map(varchar, varchar),
            "order" map(varchar, varchar),
            product struct("names" varchar[], amounts integer[]),
            flow varchar,
            subflow varchar
        ),
        original json[],
        delexed struct(speaker varchar, "text" varchar, turn_count integer, targets json[], candidates integer[])[]
    )'
});
create temp table turns as
select
    part,
    convo_id,
    turn.speaker,
    turn.text as delexicalized_utterance,
    original ->> 1 as utterance,
    turn_index,
    turn.targets[1] ->> '$' as intent,
    turn.targets[2] ->> '$' as next_step,
    turn.targets[3] ->> '$' as action,
    cast(turn.targets[4] as varchar[]) as action_values,
    cast(turn.targets[5] as integer) as target_position,
    turn.candidates
from (
    select
        part,
        convo_id,
        unnest(delexed) as turn,
        unnest(original) as original,
        generate_subscripts(delexed, 1) - 1 as turn_index
    from conversations
);
create temp table action_values as
select part, convo_id, turn_index, action, unnest(action_values) as value from turns;
create temp table scenario_values as
select part, convo_id, unnest(map_entries(scenario.personal), recursive := true) from conversations  -- noqa: AL03
union all
select part, convo_id, unnest(map_entries(scenario.order), recursive := true) from conversations;  -- noqa: AL03

-- entity: utterances
create temp table utterances as
from read_json(getvariable('files'), format = 'array', records = false, columns = {utterance: 'varchar'});

-- entity: ontology
create temp table ontology as
from read_json(getvariable('files'), records = true, columns = {
    intents: 'struct(flows varchar[], subflows map(varchar, varchar[]))',
    vocabulary: 'struct(tokens varchar[], special varchar[])',
    actions: 'map(varchar, map(varchar, varchar[]))',
    "values": 'struct(enumerable map(varchar, varchar[]), non_enumerable map(varchar, varchar[]))',
    next_steps: 'varchar[]'
});
create temp table acts as
select entry.key as act_group, unnest(map_entries(entry.value), recursive := true)  -- noqa: AL03
from (select unnest(map_entries(actions)) as entry from ontology);

-- entity: kb
create temp table subflow_acts as
select entry.key as subflow, unnest(entry.value) as act
from (
    select unnest(map_entries(json)) as entry
    from read_json(getvariable('files'), records = false, columns = {json: 'map(varchar, varchar[])'})
);

-- entity: guidelines
create temp table guidelines as
select entry.key as flow, unnest(map_entries(entry.value.subflows)) as subflow
from (
    select unnest(map_entries(json)) as entry
    from read_json(getvariable('files'), records = false, columns = {
        json: 'map(varchar, struct(description varchar, subflows map(varchar, struct(
            actions struct("type" varchar, button varchar, "text" varchar, subtext varchar[])[],
            instructions varchar[]
        ))))'
    })
);
create temp table guideline_steps as
select flow, subflow.key as subflow, unnest(subflow.value.actions, recursive := true) from guidelines;  -- noqa: AL03
