with

utterances as (
    select
        corpus_id,
        split,
        role,
        {{ word_count('utterance') }} as tokens
    from {{ ref('fct_turns') }}
    where event_type = 'utterance' and utterance is not null
),

dialogue_services as (
    select
        dialogues.corpus_id,
        dialogues.split,
        count(services.dialogue_key) as services
    from {{ ref('dim_dialogues') }} as dialogues
    left join {{ ref('dim_dialogue_services') }} as services on dialogues.dialogue_key = services.dialogue_key
    where dialogues.corpus_id in (select corpus_id from {{ ref('dim_dialogue_services') }})
    group by dialogues.corpus_id, dialogues.split, dialogues.dialogue_key
),

lengths as (
    select
        corpus_id,
        split,
        'turns_of_dialogue' as measure,
        cast(null as string) as role,
        turn_count as length,
        count(*) as times
    from {{ ref('dim_dialogues') }}
    group by corpus_id, split, turn_count
    union all
    select
        corpus_id,
        split,
        'services_of_dialogue' as measure,
        cast(null as string) as role,
        services as length,
        count(*) as times
    from dialogue_services
    group by corpus_id, split, services
    union all
    select
        corpus_id,
        split,
        'tokens_of_utterance' as measure,
        role,
        tokens as length,
        count(*) as times
    from utterances
    group by corpus_id, split, role, tokens
    union all
    select
        corpus_id,
        split,
        'place_of_target' as measure,
        cast(null as string) as role,
        target_position as length,
        count(*) as times
    from {{ ref('fct_candidates') }}
    where target_position >= 0
    group by corpus_id, split, target_position
)

select
    corpus_id,
    split,
    measure,
    role,
    cast(length as integer) as length,

    cast(times as integer) as occurrence_count,
    times / cast(sum(times) over of_measure as double) as occurrence_share,
    sum(times) over up_to_length / cast(sum(times) over of_measure as double) as cumulative_share
from lengths
window
    of_measure as (partition by corpus_id, split, measure, role),
    up_to_length as (partition by corpus_id, split, measure, role order by length)
