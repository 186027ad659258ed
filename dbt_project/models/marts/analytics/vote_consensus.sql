with

questions as (
    select
        dialogue_key,
        corpus_id,
        split,
        max(votes) as top_votes,
        max(case when agent_id is null then votes end) as none_votes
    from {{ ref('fct_votes') }}
    group by dialogue_key, corpus_id, split
),

tops as (
    select
        votes.dialogue_key,
        count(*) as top_options
    from {{ ref('fct_votes') }} as votes
    inner join questions
        on
            votes.dialogue_key = questions.dialogue_key
            and votes.votes = questions.top_votes
    group by votes.dialogue_key
),

levels as (
    select
        questions.corpus_id,
        questions.split,
        questions.top_votes,
        count(*) as question_count,
        count(*) filter (where tops.top_options > 1) as tied_count,
        count(*) filter (where questions.none_votes = questions.top_votes) as none_on_top_count
    from questions
    inner join tops
        on questions.dialogue_key = tops.dialogue_key
    group by questions.corpus_id, questions.split, questions.top_votes
)

select
    corpus_id,
    split,
    top_votes,

    cast(question_count as integer) as question_count,
    cast(tied_count as integer) as tied_count,
    cast(none_on_top_count as integer) as none_on_top_count,
    question_count / cast(sum(question_count) over (partition by corpus_id, split) as double) as question_share
from levels
