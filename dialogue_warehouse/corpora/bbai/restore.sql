-- Rebuilds the BBAI release from core. `batch` holds the source_file_id of the requested files.

-- entity: questions
with

questions as (
    select
        dialogues.dialogue_key,
        dialogues.source_file_id,
        dialogues.record_index,
        dialogues.dialogue_id,
        dialogues.task
    from dim_dialogues as dialogues
    semi join batch on dialogues.source_file_id = batch.source_file_id
),

ballots as (
    select
        votes.dialogue_key,
        map_from_entries(
            list({'k': votes.voted_for, 'v': votes.votes} order by agents.ballot_position nulls first)
        ) as human_vote,
        coalesce(list(votes.voted_for order by votes.gold_position) filter (where votes.is_selected), []) as human
    from fct_votes as votes
    semi join questions on votes.dialogue_key = questions.dialogue_key
    left join dim_agents as agents on votes.corpus_id = agents.corpus_id and votes.agent_id = agents.agent_id
    group by votes.dialogue_key
),

answers as (
    select
        responses.dialogue_key,
        map_from_entries(
            list({'k': responses.agent_id, 'v': responses.response} order by agents.ballot_position)
        ) as responses
    from fct_responses as responses
    semi join questions on responses.dialogue_key = questions.dialogue_key
    left join dim_agents as agents
        on responses.corpus_id = agents.corpus_id and responses.agent_id = agents.agent_id
    group by responses.dialogue_key
)

select
    questions.source_file_id,
    questions.record_index,
    questions.dialogue_id as record_key,
    json_merge_patch(
        to_json(answers.responses),
        to_json({
            -- The stray key that the schema knows to be 0 always.
            'human_vote': json_merge_patch(to_json(ballots.human_vote), '{"intent": 0}'),
            'intent': questions.task,
            'human': ballots.human
        })
    ) as record
from questions
inner join ballots on questions.dialogue_key = ballots.dialogue_key
inner join answers on questions.dialogue_key = answers.dialogue_key

-- entity: classifier_examples
select
    examples.source_file_id,
    examples.record_index,
    null as record_key,
    json_array(examples.utterance, examples.labels) as record
from fct_classifier_examples as examples
semi join batch on examples.source_file_id = batch.source_file_id

-- entity: descriptions
select
    batch.source_file_id,
    agents.position as record_index,
    agents.source_name as record_key,
    to_json(agents.description) as record
from dim_agents as agents
cross join batch
where agents.corpus_id = 'bbai' and agents.source_name is not null
