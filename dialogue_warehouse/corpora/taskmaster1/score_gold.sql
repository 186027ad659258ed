-- What is wrong with predictions for Taskmaster-1, gold as predictions, and predictions as lines.

-- part: problems
with

-- The labels of the ontology and those of the workers.
known as (
    select service || '.' || slot as name
    from dim_slots
    where corpus_id = 'taskmaster1'
    union
    select regexp_replace(source_label, '\.(accept|reject)$', '') as name
    from fct_slots
    where corpus_id = 'taskmaster1' and annotation_type = 'span' and source_label is not null
),

labels as (
    select
        utterances.*,
        unnest(utterances.arguments).name as label
    from predicted_utterances as utterances
),

found as (
    select
        true as is_refused,
        'the split has no such dialogue' as problem,
        null as detail,
        utterances.*
    from predicted_utterances as utterances
    anti join selected on utterances.dialogue_id = selected.dialogue_id

    union all
    select
        true as is_refused,
        'the dialogue has no such utterance' as problem,
        null as detail,
        utterances.*
    from predicted_utterances as utterances
    semi join selected on utterances.dialogue_id = selected.dialogue_id
    anti join cases
        on utterances.dialogue_id = cases.dialogue_id and utterances.turn_index = cases.turn_index
    where utterances.turn_index is not null

    union all
    select
        false as is_refused,
        'an utterance is predicted twice: the last prediction counts' as problem,
        null as detail,
        utterances.*
    from predicted_utterances as utterances
    where utterances.turn_index is not null
    qualify
        row_number() over (partition by utterances.dialogue_id, utterances.turn_index order by utterances.position) = 2

    union all
    select
        false as is_refused,
        'the corpus has no such label: it counts as wrong' as problem,
        labels.label as detail,
        labels.* exclude (label)
    from labels
    anti join known on regexp_replace(labels.label, '\.(accept|reject)$', '') = known.name
)

select
    found.is_refused,
    found.problem,
    found.file,
    concat('dialogue ', found.dialogue_id, ', utterance ' || found.turn_index, ', ' || found.detail) as place,
    found.record,
    found.position
from found

-- part: gold_predicted_utterances
select
    '' as file,
    0 as record,
    0 as position,
    cases.dialogue_id,
    cases.turn_index,
    coalesce(
        list(
            {'name': gold_arguments.name, 'text': gold_arguments.text}
            order by gold_arguments.name, gold_arguments.text
        ) filter (where gold_arguments.turn_key is not null),
        []
    ) as arguments
from cases
left join gold_arguments on cases.turn_key = gold_arguments.turn_key
where cases.turn_key is not null
group by cases.dialogue_id, cases.turn_index

-- part: example_lines
select
    json_object(
        'conversation_id', utterances.dialogue_id,
        'index', utterances.turn_index,
        'arguments', utterances.arguments
    ) as record
from predicted_utterances as utterances
order by utterances.dialogue_id, utterances.turn_index

-- part: example_dialogs
with

utterances as (
    select
        dialogue_id,
        list(json_object(
            'index', turn_index,
            'segments', list_transform(
                arguments,
                lambda one : json_object('text', one.text, 'annotations', [json_object('name', one.name)])
            )
        ) order by turn_index) as utterances
    from predicted_utterances
    group by dialogue_id
)

select
    json_object('conversation_id', dialogue_id, 'utterances', utterances) as record
from utterances
order by dialogue_id
