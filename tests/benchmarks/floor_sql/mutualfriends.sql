-- entity: dialogues
create temp table dialogues as
from read_json(getvariable('files'), format = 'array', filename = true, columns = {
    uuid: 'varchar',
    scenario_uuid: 'varchar',
    scenario: 'struct(
        uuid varchar,
        alphas double[],
        attributes struct("unique" boolean, value_type varchar, "name" varchar)[],
        kbs map(varchar, varchar)[][]
    )',
    agents: 'map(varchar, varchar)',
    outcome: 'struct(reward integer)',
    events: 'struct("action" varchar, start_time varchar, data json, agent integer, "time" varchar)[]'
});
create temp table turns as
select
    filename,
    uuid,
    turn_index,
    event.agent,
    event.action,
    event.time,
    case when event.action = 'message' then event.data ->> '$' end as utterance,
    cast(case when event.action = 'select' then event.data end as map(varchar, varchar)) as selected
from (
    select filename, uuid, unnest(events) as event, generate_subscripts(events, 1) - 1 as turn_index
    from dialogues
);
create temp table selected_values as
select filename, uuid, turn_index, unnest(map_entries(selected), recursive := true) from turns;  -- noqa: AL03
create temp table attributes as
select
    filename,
    uuid,
    unnest(scenario.attributes, recursive := true),  -- noqa: AL03
    unnest(scenario.alphas) as alpha
from dialogues;
create temp table knowledge_items as
select filename, uuid, agent, item_index, unnest(map_entries(item), recursive := true)  -- noqa: AL03
from (
    select filename, uuid, agent, unnest(kb) as item, generate_subscripts(kb, 1) - 1 as item_index
    from (
        select filename, uuid, unnest(scenario.kbs) as kb, generate_subscripts(scenario.kbs, 1) - 1 as agent
        from dialogues
    )
);
