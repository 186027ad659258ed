-- How much of ABCD's retrieval task is solved without reading the dialogue, and is the right answer always unique?
-- One row per split.
--
-- Columns
--   split: split
--   retrievals: agent turns with candidates
--   candidates_fewest, candidates_most: candidates of a retrieval
--   distinct_targets: distinct candidates that are the right one at least once in the split
--   target_first_percent, target_top10_percent: retrievals whose target is first, or among the first ten: the result
--     of keeping the published order; one decimal
--   seen_target_percent: retrievals whose target is right in train too, one decimal; NULL for train
--   popularity_recall_at_1, popularity_recall_at_5, popularity_recall_at_10: percent of retrievals where the target is
--     among the first 1, 5, 10 candidates, ranked by the number of times each is right in train; a target that ties
--     with another candidate is ranked after it; one decimal; NULL for train
--   twin_targets: retrievals where another candidate has exactly the same text as the target: choosing it is counted as
--     wrong; NULL if utterances.json is not in the build
--
-- Reads: core.fct_candidates, core.dim_candidate_utterances
-- Expect: 100 candidates, 1 and 10 percent by position, which is chance. Candidates are compared by their number in
--   utterances.json, and by text for twin_targets only.
-- Source: recall at 1, 5 and 10 of 100 candidates is the metric of the publisher's evaluation; these values are its
--   baselines.
with

retrievals as (
    select
        candidates_key,
        split,
        candidate_ids,
        target_position,
        list_extract(candidate_ids, target_position + 1) as target_id
    from core.fct_candidates
    where corpus_id = 'abcd'
),

popularity as (
    select
        target_id as candidate_id,
        count(*) as times
    from retrievals
    where split = 'train'
    group by target_id
),

candidates as (
    select
        retrievals.candidates_key,
        coalesce(popularity.times, 0) as target_times,
        unnest(retrievals.candidate_ids) as candidate_id
    from retrievals
    left join popularity
        on retrievals.target_id = popularity.candidate_id
    where retrievals.split <> 'train'
),

ranked as (
    select
        candidates.candidates_key,
        any_value(candidates.target_times) > 0 as is_seen,
        count(*) filter (where coalesce(popularity.times, 0) >= candidates.target_times) as target_rank
    from candidates
    left join popularity
        on candidates.candidate_id = popularity.candidate_id
    group by candidates.candidates_key
),

twins as (
    select
        utterance,
        list(candidate_id) as candidate_ids
    from core.dim_candidate_utterances
    where corpus_id = 'abcd'
    group by utterance
    having count(*) > 1
),

judged as (
    select
        retrievals.split,
        retrievals.target_id,
        retrievals.target_position,
        length(retrievals.candidate_ids) as candidates,
        ranked.is_seen,
        ranked.target_rank,
        case
            when twins.candidate_ids is not null
                then length(list_intersect(retrievals.candidate_ids, twins.candidate_ids)) > 1
            when targets.utterance is not null
                then false
        end as has_twin
    from retrievals
    left join ranked
        on retrievals.candidates_key = ranked.candidates_key
    left join core.dim_candidate_utterances as targets
        on
            targets.corpus_id = 'abcd'
            and retrievals.target_id = targets.candidate_id
    left join twins
        on targets.utterance = twins.utterance
)

select
    split,

    count(*) as retrievals,
    min(candidates) as candidates_fewest,
    max(candidates) as candidates_most,
    count(distinct target_id) as distinct_targets,
    round(100 * avg(cast(target_position = 0 as integer)), 1) as target_first_percent,
    round(100 * avg(cast(target_position < 10 as integer)), 1) as target_top10_percent,

    round(100 * avg(cast(is_seen as integer)), 1) as seen_target_percent,
    round(100 * avg(cast(target_rank <= 1 as integer)), 1) as popularity_recall_at_1,
    round(100 * avg(cast(target_rank <= 5 as integer)), 1) as popularity_recall_at_5,
    round(100 * avg(cast(target_rank <= 10 as integer)), 1) as popularity_recall_at_10,

    cast(sum(cast(has_twin as integer)) as bigint) as twin_targets
from judged
group by split
order by split
