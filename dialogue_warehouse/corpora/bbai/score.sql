-- The metrics of BBAI. `selected` has the questions of the split; `predicted_scores` has the predictions.

-- One row per question for which an agent was selected.
-- part: cases
with

ballots as (
    select
        votes.dialogue_key,
        sum(votes.votes) as votes,
        bool_or(votes.is_selected and votes.agent_id is null) as is_none_selected,
        list(votes.agent_id order by votes.agent_id) filter (where votes.is_selected) as selected_agents
    from fct_votes as votes
    inner join selected on votes.dialogue_key = selected.dialogue_key
    group by votes.dialogue_key
)

select
    selected.dialogue_key as unit_key,
    selected.dialogue_key,
    turns.turn_key,
    selected.dialogue_id as question,
    ballots.votes,
    ballots.selected_agents,
    list_filter(['#ALL', dialogues.task], lambda name : name is not null) as groups
from selected
inner join dim_dialogues as dialogues on selected.dialogue_key = dialogues.dialogue_key
inner join ballots on selected.dialogue_key = ballots.dialogue_key
left join fct_turns as turns on selected.dialogue_key = turns.dialogue_key
where not ballots.is_none_selected

-- The best-ranked agent of each question: of equal scores, the first on the ballot.
-- part: chosen
with

latest as (
    select *
    from predicted_scores
    qualify row_number() over (partition by question order by position desc) = 1
),

ranked as (
    select
        cases.unit_key,
        cases.dialogue_key,
        unnest(map_entries(latest.scores)) as scored
    from latest
    inner join cases on latest.question = cases.question
)

select
    ranked.unit_key,
    ranked.scored.key as agent_id,
    votes.votes,
    votes.is_selected
from ranked
inner join dim_agents as agents on ranked.scored.key = agents.agent_id and agents.corpus_id = 'bbai'
inner join fct_votes as votes
    on ranked.dialogue_key = votes.dialogue_key and ranked.scored.key = votes.agent_id
qualify
    row_number() over (partition by ranked.unit_key order by ranked.scored.value desc, agents.ballot_position) = 1

-- part: units
select
    cases.unit_key,
    'precision_at_1' as metric,
    null as variant,
    chosen.unit_key is not null as is_scored,
    if(chosen.is_selected, 1.0, 0.0) as numerator,
    1.0 as denominator
from cases
left join chosen on cases.unit_key = chosen.unit_key

union all
select
    cases.unit_key,
    'vote_share' as metric,
    null as variant,
    chosen.unit_key is not null as is_scored,
    coalesce(chosen.votes / cases.votes, 0) as numerator,
    1.0 as denominator
from cases
left join chosen on cases.unit_key = chosen.unit_key
where cases.votes > 0

-- The agents that were chosen, and those that should have been.
-- part: slots
select
    cases.dialogue_key,
    cases.turn_key,
    null as service,
    chosen.agent_id as slot,
    if(chosen.is_selected, 'right', 'wrong') as outcome,
    array_to_string(cases.selected_agents, ', ') as gold,
    chosen.agent_id as predicted,
    cases.unit_key as example_key
from chosen
inner join cases on chosen.unit_key = cases.unit_key

union all
select
    cases.dialogue_key,
    cases.turn_key,
    null as service,
    unnest(cases.selected_agents) as slot,
    'missed' as outcome,
    array_to_string(cases.selected_agents, ', ') as gold,
    chosen.agent_id as predicted,
    cases.unit_key as example_key
from chosen
inner join cases on chosen.unit_key = cases.unit_key
where not chosen.is_selected

-- part: problems
with

agents as (
    select list(dim_agents.agent_id order by dim_agents.ballot_position) as ids
    from dim_agents
    where dim_agents.corpus_id = 'bbai' and dim_agents.ballot_position is not null
),

found as (
    select
        true as is_refused,
        'the split has no such question' as problem,
        predicted_scores.*,
        null as detail
    from predicted_scores
    anti join selected on predicted_scores.question = selected.dialogue_id

    union all
    select
        true as is_refused,
        'an agent has no score' as problem,
        predicted_scores.*,
        list_filter(agents.ids, lambda id : not map_contains(predicted_scores.scores, id))[1] as detail
    from predicted_scores
    cross join agents
    where not list_has_all(map_keys(predicted_scores.scores), agents.ids)

    union all
    select
        true as is_refused,
        'a score is of an agent that is not on the ballot' as problem,
        predicted_scores.*,
        list_filter(map_keys(predicted_scores.scores), lambda id : not list_contains(agents.ids, id))[1] as detail
    from predicted_scores
    cross join agents
    where not list_has_all(agents.ids, map_keys(predicted_scores.scores))

    union all
    select
        false as is_refused,
        'a question is predicted twice: the last prediction counts' as problem,
        predicted_scores.*,
        null as detail
    from predicted_scores
    qualify row_number() over (partition by predicted_scores.question order by predicted_scores.position) = 2
)

select
    found.is_refused,
    found.problem,
    found.file,
    concat('question "', found.question, '"', ', ' || found.detail) as place,
    found.record,
    found.position
from found

-- Gold as predictions: the votes, and more for an agent that was selected.
-- part: gold_predicted_scores
select
    '' as file,
    0 as record,
    0 as position,
    selected.dialogue_id as question,
    map(
        list(votes.agent_id order by agents.ballot_position),
        list(votes.votes + if(votes.is_selected, 100.0, 0.0) order by agents.ballot_position)
    ) as scores
from fct_votes as votes
inner join selected on votes.dialogue_key = selected.dialogue_key
inner join dim_agents as agents on votes.agent_id = agents.agent_id and agents.corpus_id = 'bbai'
where agents.ballot_position is not null
group by selected.dialogue_id

-- part: example_official
select
    json_object(
        'question', predicted_scores.question,
        'scores', to_json(predicted_scores.scores)
    ) as record
from predicted_scores
order by predicted_scores.question
