-- entity: questions
create temp table questions as
select
    filename,
    entry.key as question,
    entry.value.intent,
    entry.value.human,
    map_entries(entry.value.human_vote) as votes,
    entry.value
from (
    select filename, unnest(map_entries(json)) as entry
    from read_json(getvariable('files'), records = false, filename = true, maximum_object_size = 1073741824, columns = {
        json: 'map(varchar, struct(
            intent varchar,
            human varchar[],
            human_vote map(varchar, integer),
            alexa varchar, google varchar, houndify varchar, recipe varchar, dictionary varchar,
            task_manager varchar, hotel varchar, stock varchar, math varchar, sport varchar,
            wikipedia varchar, mobile varchar, banking varchar, coffee varchar, event_search varchar,
            jokes varchar, reminders varchar, adasa varchar, covid varchar
        ))'
    })
);
create temp table votes as
select filename, question, vote.key as voted_for, vote.value as votes
from (select filename, question, unnest(votes) as vote from questions)
where vote.key <> 'intent';
create temp table responses as
unpivot (
    select * exclude (intent, human, human_vote)
    from (select filename, question, unnest(value) from questions)  -- noqa: AL03
)
on
    alexa, google, houndify, recipe, dictionary, task_manager, hotel, stock, math, sport, wikipedia, mobile,
    banking, coffee, event_search, jokes, reminders, adasa, covid
into name agent value response;

-- entity: classifier_examples
create temp table classifier_examples as
select filename, example ->> 0 as utterance, cast(example -> 1 as varchar[]) as labels
from read_json(getvariable('files'), format = 'array', records = false, filename = true, columns = {example: 'json'});

-- entity: descriptions
create temp table agents as
select unnest(map_entries(json), recursive := true)
from read_json(getvariable('files'), records = false, columns = {json: 'map(varchar, varchar)'});
