-- How does the belief state of each SGD service grow: what does a turn add or correct, and when is it complete?
-- One row per service.
--
-- Columns
--   service: service of the test split
--   dialogues: dialogues with a belief state of the service
--   frames: belief states of the service, one a user turn in which it is annotated
--   quiet_percent: frames whose state equals the previous state, or is the first and empty; one decimal
--   added_slots: slots that the previous state did not have, in all frames
--   changed_slots: slots that the previous state had with other values: no variant in common
--   dropped_slots: slots that the previous state had and this state does not have
--   slots_at_end: slots of the service's last state in a dialogue, mean, two decimals
--   frames_until_complete: frames of the service up to the last one that added, changed or dropped a slot, mean, two
--     decimals; 0 if its states stay empty
--
-- Reads: core.fct_frames, analytics.belief_states
-- Expect: a state is compared with the previous state of the same service, which may be several turns back. `dontcare`
--   is a value. For another split change the word in the first line of the query; train takes longer.
-- Source: a slot that disappears is a known property of SGD, usually after a switch of intent inside the service.
with

chosen as (select 'test' as split),

-- The slots of a frame, without the dropped ones, are the state that joint goal accuracy compares.
frames as (
    select
        frames.frame_key,
        frames.dialogue_key,
        frames.service,
        row_number() over of_service as place,
        row_number() over of_service = count(*) over (partition by frames.dialogue_key, frames.service) as is_last,
        count(states.slot_name) filter (where states.change <> 'dropped') as slots,
        count(*) filter (where states.change = 'added') as added,
        count(*) filter (where states.change = 'changed') as changed,
        count(*) filter (where states.change = 'dropped') as dropped
    from core.fct_frames as frames
    left join analytics.belief_states as states
        on frames.frame_key = states.frame_key
    where frames.active_intent is not null and frames.split = (select chosen.split from chosen)
    group by frames.frame_key, frames.dialogue_key, frames.service, frames.turn_index, frames.frame_index
    window
        of_service as (
            partition by frames.dialogue_key, frames.service order by frames.turn_index, frames.frame_index
        )
),

dialogues as (
    select
        dialogue_key,
        service,
        count(*) as frames,
        count(*) filter (where added + changed + dropped = 0) as quiet_frames,
        sum(added) as added,
        sum(changed) as changed,
        sum(dropped) as dropped,
        max(slots) filter (where is_last) as slots_at_end,
        max(place) filter (where added + changed + dropped > 0) as last_place
    from frames
    group by dialogue_key, service
)

select
    service,

    count(*) as dialogues,
    cast(sum(frames) as bigint) as frames,
    round(100.0 * sum(quiet_frames) / sum(frames), 1) as quiet_percent,
    cast(sum(added) as bigint) as added_slots,
    cast(sum(changed) as bigint) as changed_slots,
    cast(sum(dropped) as bigint) as dropped_slots,
    round(avg(slots_at_end), 2) as slots_at_end,
    round(avg(coalesce(last_place, 0)), 2) as frames_until_complete
from dialogues
group by service
order by service
