-- entity: dialogs
create temp table nested_turns as
select
    filename,
    conversation_id,
    instruction_id,
    unnest(utterances) as turn,
    generate_subscripts(utterances, 1) - 1 as turn_index
from read_json(getvariable('files'), format = 'array', filename = true, columns = {
    conversation_id: 'varchar',
    instruction_id: 'varchar',
    utterances: 'struct(
        "index" integer,
        speaker varchar,
        "text" varchar,
        segments struct(
            start_index integer, end_index integer, "text" varchar, annotations struct("name" varchar)[]
        )[]
    )[]'
});
create temp table turns as
select filename, conversation_id, instruction_id, turn_index, turn.index, turn.speaker, turn.text from nested_turns;
create temp table annotations as
select
    filename,
    conversation_id,
    turn_index,
    segment.start_index,
    segment.end_index,
    segment.text,
    unnest(segment.annotations, recursive := true)  -- noqa: AL03
from (
    select filename, conversation_id, turn_index, unnest(turn.segments) as segment from nested_turns
);

-- entity: ontology
create temp table ontology as
select unnest(map_entries(json), recursive := true)
from read_json(getvariable('files'), records = false, columns = {
    json: 'map(varchar, struct(id varchar, vertical varchar, required varchar[], optional varchar[]))'
});

-- entity: split_members
create temp table split_members as
from read_csv(getvariable('files'), header = false, delim = ',', filename = true);
