-- entity: dialogues
create temp table nested_turns as
select
    filename,
    dialogue_id,
    unnest(turns) as turn,
    generate_subscripts(turns, 1) - 1 as turn_index
from read_json(getvariable('files'), format = 'array', filename = true, columns = {
    dialogue_id: 'varchar',
    services: 'varchar[]',
    turns: 'struct(
        speaker varchar,
        utterance varchar,
        frames struct(
            service varchar,
            slots struct(slot varchar, "start" integer, exclusive_end integer)[],
            actions struct(act varchar, slot varchar, "values" varchar[], canonical_values varchar[])[],
            state struct(active_intent varchar, requested_slots varchar[], slot_values map(varchar, varchar[])),
            service_call struct(method varchar, parameters map(varchar, varchar)),
            service_results map(varchar, varchar)[]
        )[]
    )[]'
});
create temp table turns as
select filename, dialogue_id, turn_index, turn.speaker, turn.utterance from nested_turns;
create temp table nested_frames as
select
    filename,
    dialogue_id,
    turn_index,
    unnest(turn.frames) as frame,
    generate_subscripts(turn.frames, 1) - 1 as frame_index
from nested_turns;
create temp table frames as
select
    filename,
    dialogue_id,
    turn_index,
    frame_index,
    frame.service,
    frame.state.active_intent,
    frame.state.requested_slots,
    frame.service_call.method
from nested_frames;
create temp table actions as
select
    filename,
    dialogue_id,
    turn_index,
    frame_index,
    unnest(frame.actions) as action,
    generate_subscripts(frame.actions, 1) - 1 as action_index
from nested_frames;
create temp table action_values as
select
    filename,
    dialogue_id,
    turn_index,
    frame_index,
    action_index,
    unnest(action.values) as value,
    unnest(action.canonical_values) as canonical_value
from actions;
create temp table spans as
select filename, dialogue_id, turn_index, frame_index, unnest(frame.slots, recursive := true)  -- noqa: AL03
from nested_frames;
create temp table state_values as
select filename, dialogue_id, turn_index, frame_index, entry.key as slot, unnest(entry.value) as value
from (
    select filename, dialogue_id, turn_index, frame_index, unnest(map_entries(frame.state.slot_values)) as entry
    from nested_frames
);
create temp table call_parameters as
select
    filename,
    dialogue_id,
    turn_index,
    frame_index,
    unnest(map_entries(frame.service_call.parameters), recursive := true)  -- noqa: AL03
from nested_frames;
create temp table service_results as
select
    filename,
    dialogue_id,
    turn_index,
    frame_index,
    unnest(frame.service_results) as entity,
    generate_subscripts(frame.service_results, 1) - 1 as result_index
from nested_frames;

-- entity: services
create temp table services as
from read_json(getvariable('files'), format = 'array', filename = true, columns = {
    service_name: 'varchar',
    description: 'varchar',
    slots: 'struct("name" varchar, description varchar, is_categorical boolean, possible_values varchar[])[]',
    intents: 'struct(
        "name" varchar,
        description varchar,
        is_transactional boolean,
        required_slots varchar[],
        optional_slots map(varchar, varchar),
        result_slots varchar[]
    )[]'
});
create temp table service_slots as
select filename, service_name, unnest(slots, recursive := true) from services;  -- noqa: AL03
create temp table service_intents as
select filename, service_name, unnest(intents, recursive := true) from services;  -- noqa: AL03
