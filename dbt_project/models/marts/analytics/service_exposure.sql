with

-- A service without a split belongs to one schema for all splits, so that nothing in it is unseen.
services as (
    select
        corpus_id,
        split,
        service,
        domain
    from {{ ref('dim_services') }}
    where split is not null and {{ is_first('service_definition_key') }}
),

dialogues as (
    select
        corpus_id,
        split,
        service,
        count(distinct dialogue_key) as dialogues
    from {{ ref('dim_dialogue_services') }}
    group by corpus_id, split, service
),

split_dialogues as (
    select
        corpus_id,
        split,
        count(*) as dialogues
    from {{ ref('dim_dialogues') }}
    group by corpus_id, split
),

frames as (
    select
        corpus_id,
        split,
        service,
        count(*) as frames,
        count(active_intent) as state_frames
    from {{ ref('fct_frames') }}
    group by corpus_id, split, service
),

split_frames as (
    select
        corpus_id,
        split,
        sum(state_frames) as state_frames
    from frames
    group by corpus_id, split
)

select
    services.corpus_id,
    services.split,
    services.service,
    services.domain,

    train.service is not null as is_seen,
    cast(coalesce(dialogues.dialogues, 0) as integer) as dialogue_count,
    cast(coalesce(dialogues.dialogues, 0) as double) / split_dialogues.dialogues as dialogue_share,
    cast(coalesce(frames.frames, 0) as integer) as frame_count,
    cast(coalesce(frames.state_frames, 0) as integer) as state_frame_count,
    cast(coalesce(frames.state_frames, 0) as double) / nullif(split_frames.state_frames, 0) as state_frame_share
from services
left join services as train
    on
        services.corpus_id = train.corpus_id
        and services.service = train.service
        and train.split = 'train'
left join dialogues
    on
        services.corpus_id = dialogues.corpus_id
        and services.split = dialogues.split
        and services.service = dialogues.service
left join split_dialogues
    on
        services.corpus_id = split_dialogues.corpus_id
        and services.split = split_dialogues.split
left join frames
    on
        services.corpus_id = frames.corpus_id
        and services.split = frames.split
        and services.service = frames.service
left join split_frames
    on
        services.corpus_id = split_frames.corpus_id
        and services.split = split_frames.split
