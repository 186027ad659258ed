{#- A worker may choose several options, and the release has only their sums. A question with as many votes as workers
    is taken as one choice of each: there the MASI distance of two workers is 0 for the same option, else 1. -#}
with

ballots as (
    select
        votes.dialogue_key,
        votes.corpus_id,
        votes.split,
        corpora.voter_count,
        cast(sum(cast(votes.votes as bigint)) as bigint) = corpora.voter_count and min(votes.votes) >= 0 as is_compared
    from {{ ref('fct_votes') }} as votes
    inner join {{ ref('dim_corpora') }} as corpora
        on votes.corpus_id = corpora.corpus_id
    group by votes.dialogue_key, votes.corpus_id, votes.split, corpora.voter_count
),

questions as (
    select
        corpus_id,
        split,
        voter_count,
        count(*) as questions,
        count(*) filter (where is_compared) as compared
    from ballots
    group by corpus_id, split, voter_count
),

options as (
    select
        ballots.corpus_id,
        ballots.split,
        votes.voted_for,
        sum(votes.votes) as votes,
        sum(cast(votes.votes as bigint) * (votes.votes - cast(1 as bigint))) as agreeing_pairs
    from {{ ref('fct_votes') }} as votes
    inner join ballots
        on votes.dialogue_key = ballots.dialogue_key
    where ballots.is_compared
    group by ballots.corpus_id, ballots.split, votes.voted_for
),

-- Ordered pairs of workers who choose alike: in one question, and among all votes.
pairs as (
    select
        corpus_id,
        split,
        sum(agreeing_pairs) as agreeing_pairs,
        sum(votes * (votes - 1)) as chance_pairs
    from options
    group by corpus_id, split
),

rates as (
    select
        questions.corpus_id,
        questions.split,
        questions.questions,
        questions.compared,
        pairs.agreeing_pairs
        / cast(nullif(questions.compared * questions.voter_count * (questions.voter_count - 1), 0) as double)
            as agreement,
        pairs.chance_pairs
        / cast(
            nullif(
                questions.compared * questions.voter_count * (questions.compared * questions.voter_count - 1), 0
            ) as double
        ) as chance
    from questions
    left join pairs
        on
            questions.corpus_id = pairs.corpus_id
            and questions.split is not distinct from pairs.split
)

select
    corpus_id,
    split,

    cast(questions as integer) as question_count,
    cast(compared as integer) as compared_count,
    agreement,
    (agreement - chance) / nullif(1 - chance, 0) as masi_alpha
from rates
