with

votes as (
    select
        dialogue_key,
        corpus_id,
        split,
        agent_id,
        votes,
        max(votes) over (partition by dialogue_key) as top_votes
    from {{ ref('fct_votes') }}
),

questions as (
    select
        dialogue_key,
        corpus_id,
        split,
        top_votes,
        count(*) as top_options,
        count(*) filter (where agent_id is null) as top_none
    from votes
    where votes = top_votes
    group by dialogue_key, corpus_id, split, top_votes
),

levels as (
    select
        corpus_id,
        split,
        top_votes,
        count(*) as question_count,
        count(*) filter (where top_options > 1) as tied_count,
        count(*) filter (where top_none > 0) as none_on_top_count
    from questions
    group by corpus_id, split, top_votes
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
