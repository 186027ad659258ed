{#- The rules of BBAI about the answers that the workers chose. -#}
{%- set cannot = "^(i.?m )?sorry|^[a-z ]+ is not (supported|available)" %}
{%- set unknowing = "^(i.?m )?sorry,? (but )?i (do|did)(n.?t| not) (know|understand)" %}
with

answers as (
    select
        responses.dialogue_key,
        responses.response_key,
        responses.agent_id,
        responses.response,
        votes.votes,
        votes.is_selected,
        count(*) over (partition by responses.split, responses.agent_id, responses.response) as question_count
    from {{ ref('fct_responses') }} as responses
    inner join {{ ref('fct_votes') }} as votes
        on
            responses.dialogue_key = votes.dialogue_key
            and responses.agent_id = votes.agent_id
    where responses.corpus_id = 'bbai' and votes.corpus_id = 'bbai'
),

-- Two agents give the same answer to a question, and the workers chose only one of them.
unequal_gold as (
    select
        others.dialogue_key,
        others.response_key as row_key,
        chosen.response_key as other_key,
        others.agent_id || ' answers like ' || chosen.agent_id || ', but has '
            || {{ quantity('others.votes', 'vote') }} || ' instead of ' || cast(chosen.votes as string) as detail
    from answers as others
    inner join answers as chosen
        on
            others.dialogue_key = chosen.dialogue_key
            and others.response = chosen.response
    where
        chosen.is_selected
        and not others.is_selected
        and trim(both ' ' from translate(others.response, chr(9) || chr(10) || chr(13), '   ')) <> ''
),

-- The workers chose an answer that says that the agent does not understand or know, or an apology or refusal that the
-- agent gives to at least ten questions. "I couldn't find a meeting" can be right.
refused_gold as (
    select
        dialogue_key,
        response_key as row_key,
        agent_id || ' has ' || {{ quantity('votes', 'vote') }} || ' for ' || response as detail
    from answers
    where
        is_selected
        and (
            (question_count >= 10 and regexp_extract({{ lower_case('response') }}, '{{ cannot }}', 0) <> '')
            or regexp_extract({{ lower_case('response') }}, '{{ unknowing }}', 0) <> ''
        )
)

{{ stack_rules('bbai', dialogues=['unequal_gold', 'refused_gold'], others=['unequal_gold']) }}
