{#- Defects and properties of BBAI: one CTE per rule, named after the rule; claims.toml describes each under
    [[defects]]. The rules about chosen answers are in bbai__gold_rules, the rule about equal questions in
    bbai__question_rules.
    Longer than 240 lines: one file per corpus, because each node costs dbt some 20 ms per build. -#}
with

responses as (
    select
        responses.dialogue_key,
        responses.response_key,
        responses.agent_id,
        responses.response,
        dialogues.source_file_id
    from {{ ref('fct_responses') }} as responses
    inner join {{ ref('dim_dialogues') }} as dialogues
        on responses.dialogue_key = dialogues.dialogue_key
    where responses.corpus_id = 'bbai'
),

-- The response of an agent is blank.
blank_response as (
    select
        dialogue_key,
        response_key as row_key,
        'response of ' || agent_id || ' is blank' as detail
    from responses
    where response < '!' and trim(both ' ' from translate(response, chr(9) || chr(10) || chr(13), '   ')) = ''
),

-- The workers chose an agent whose response is blank.
blank_gold_response as (
    select
        responses.dialogue_key,
        responses.response_key as row_key,
        chosen.vote_key as other_key,
        'response of ' || responses.agent_id || ' is blank, but has '
            || {{ quantity('chosen.votes', 'vote') }} as detail
    from blank_response as blanks
    inner join responses
        on blanks.row_key = responses.response_key
    inner join {{ ref('fct_votes') }} as chosen
        on
            responses.dialogue_key = chosen.dialogue_key
            and responses.agent_id = chosen.agent_id
    where chosen.corpus_id = 'bbai' and chosen.is_selected
),

-- A response of several lines: a program that reads files line by line takes it for several responses.
response_with_line_break as (
    select
        dialogue_key,
        response_key as row_key,
        'response of ' || agent_id || ' has several lines' as detail
    from responses
    where contains(response, chr(10))
),

totals as (
    select
        source_file_id,
        agent_id,
        count(*) as question_count
    from responses
    group by source_file_id, agent_id
),

-- An agent gives the same answer to more than half of the questions of a file: it refuses questions outside its domain.
boilerplate_responses as (
    select
        totals.source_file_id,
        cast(null as integer) as record_index,
        totals.agent_id || ' answers ' || cast(count(*) as string) || ' of ' || cast(totals.question_count as string)
            || ' questions with ' || responses.response as detail
    from responses
    inner join totals
        on
            responses.source_file_id = totals.source_file_id
            and responses.agent_id = totals.agent_id
    group by totals.source_file_id, totals.agent_id, totals.question_count, responses.response
    having count(*) > 1 and 2 * count(*) > totals.question_count
),

ballots as (
    select
        dialogue_key,
        sum(votes) as vote_count,
        max(case when agent_id is null then votes end) as none_votes,
        max(case when agent_id is null and is_selected then 1 else 0 end) as has_none,
        max(case when agent_id is not null and is_selected then 1 else 0 end) as has_agent,
        max(case when agent_id is not null then votes end) as most_agent_votes
    from {{ ref('fct_votes') }}
    where corpus_id = 'bbai'
    group by dialogue_key
),

-- Landing rejects a question whose vote key `intent` is missing or not 0. `intent` is not an option and has no row.
stray_vote_key as (
    select
        dialogue_key,
        dialogue_key as row_key,
        'human_vote has the key intent, which is not an option' as detail
    from ballots
),

-- According to the README, `human` names only agents. It also names `none`, by rules that the README does not give.
none_in_human as (
    select
        dialogue_key,
        dialogue_key || '/vote/none' as row_key,
        'human lists the option none with ' || {{ quantity('none_votes', 'vote') }} || '; the best agent has '
            || cast(most_agent_votes as string) as detail
    from ballots
    where has_none = 1
),

-- `human` says both that no agent answers the question and that one does.
none_beside_agent as (
    select
        dialogue_key,
        dialogue_key || '/vote/none' as row_key,
        'human lists the option none with ' || {{ quantity('none_votes', 'vote') }} || ' and an agent with '
            || cast(most_agent_votes as string) as detail
    from ballots
    where has_none = 1 and has_agent = 1
),

-- Five workers vote on a question. Each may choose several options or none.
uneven_ballot as (
    select
        dialogue_key,
        dialogue_key as row_key,
        {{ quantity('vote_count', 'vote') }} as detail
    from ballots
    where vote_count <> 5
),

-- More votes than there are workers.
too_many_votes as (
    select
        dialogue_key,
        vote_key as row_key,
        {{ quantity('votes', 'vote') }} || ' for ' || voted_for as detail
    from {{ ref('fct_votes') }}
    where corpus_id = 'bbai' and votes not between 0 and 5
),

examples as (
    select
        example_key,
        split,
        utterance,
        dialogue_key
    from {{ ref('fct_classifier_examples') }}
    where corpus_id = 'bbai'
),

example_splits as (
    select distinct split
    from examples
),

-- The README describes the classifier files as the questions in another form. The files leave out the questions that no
-- agent answers, and one question that an agent does answer.
question_without_example as (
    select
        dialogues.dialogue_key,
        dialogues.dialogue_key as row_key,
        case ballots.has_agent
            when 1 then 'answered by an agent, but not in the classifier file'
            else 'not answered by any agent, and not in the classifier file'
        end as detail
    from {{ ref('dim_dialogues') }} as dialogues
    inner join ballots
        on dialogues.dialogue_key = ballots.dialogue_key
    inner join example_splits
        on dialogues.split = example_splits.split
    left join examples
        on dialogues.dialogue_key = examples.dialogue_key
    where examples.example_key is null
),

-- The classifier file has a question that the file of questions lacks.
example_without_question as (
    select
        examples.example_key as row_key,
        'not a question of ' || examples.split || ': ' || examples.utterance as detail
    from examples
    inner join (select distinct split from {{ ref('dim_dialogues') }} where corpus_id = 'bbai') as split_questions
        on examples.split = split_questions.split
    where examples.dialogue_key is null
),

labels as (
    select
        example_key,
        {{ explode_indexed('labels', 'label', 'position') }}
    from {{ ref('fct_classifier_examples') }}
    where corpus_id = 'bbai'
),

-- An example repeats a label.
repeated_label as (
    select
        example_key as row_key,
        'label ' || label || ' is already listed' as detail
    from (
        select
            example_key,
            label,
            row_number() over (partition by example_key, label order by position) as occurrence
        from labels
    ) as listed
    where occurrence > 1
),

-- descriptions.json describes an agent that answers no question.
unknown_agent as (
    select
        files.source_file_id,
        agents.position as record_index,
        agents.source_name || ' is described, but answers no question' as detail
    from {{ ref('dim_agents') }} as agents
    inner join {{ ref('dim_source_files') }} as files
        on
            agents.corpus_id = files.corpus_id
            and files.entity = 'descriptions'
    left join (select distinct agent_id from responses) as answering
        on agents.agent_id = answering.agent_id
    where
        agents.corpus_id = 'bbai'
        and agents.source_name is not null
        and answering.agent_id is null
        and exists (select 1 from responses)
),

-- descriptions.json uses another name for an agent than all other files.
renamed_agent as (
    select
        files.source_file_id,
        agents.position as record_index,
        agents.agent_id || ' is called ' || agents.source_name || ' in the descriptions' as detail
    from {{ ref('dim_agents') }} as agents
    inner join {{ ref('dim_source_files') }} as files
        on
            agents.corpus_id = files.corpus_id
            and files.entity = 'descriptions'
    where agents.corpus_id = 'bbai' and agents.source_name <> agents.agent_id
)

{{ stack_rules(
    'bbai',
    dialogues=[
        'blank_response',
        'blank_gold_response',
        'response_with_line_break',
        'stray_vote_key',
        'none_in_human',
        'none_beside_agent',
        'uneven_ballot',
        'too_many_votes',
        'question_without_example'
    ],
    definitions=[
        'example_without_question',
        'repeated_label'
    ],
    files=[
        'boilerplate_responses',
        'unknown_agent',
        'renamed_agent'
    ],
    others=[
        'blank_gold_response'
    ],
    relations=[ref('bbai__gold_rules'), ref('bbai__question_rules')]
) }}
