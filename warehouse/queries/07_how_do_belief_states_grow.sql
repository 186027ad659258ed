-- How does the belief state of each SGD service grow: what does a turn add or correct, and when is it complete?
-- One row per service.
--
-- Columns
--   service: service of the test split
--   dialogues: dialogues with a belief state of the service
--   frames: belief states of the service, one a user turn in which it is annotated
--   quiet_percent: frames whose state is the one before, or empty and the first, one decimal
--   added_slots: slots that the state before did not have, in all frames
--   changed_slots: slots that the state before had with other values: no variant in common
--   dropped_slots: slots that the state before had and this one has not
--   slots_at_end: slots of the service's last state in a dialogue, mean, two decimals
--   frames_until_complete: frames of the service up to the last one that added, changed or dropped a slot, mean, two
--     decimals; 0 where its states stay empty
--
-- Reads: core.fct_frames, core.fct_slots
-- Expect: a state is compared with the same service's state before, which may be several turns back. `dontcare` is a
--   value. For another split change the word in the first line of the query; train takes longer.
-- Source: a slot that vanishes is a known oddity of SGD, mostly a switch of intent inside the service.
with

chosen as (select 'test' as split),

frames as (
    select
        dialogue_key,
        turn_key,
        frame_index,
        service,
        row_number() over (partition by dialogue_key, service order by turn_index, frame_index) as place,
        count(*) over (partition by dialogue_key, service) as places
    from core.fct_frames
    where active_intent is not null and split = (select chosen.split from chosen)
),

slots as (
    select
        frames.dialogue_key,
        frames.service,
        slots.slot_name,
        frames.place,
        any_value(frames.places) as places,
        list(slots.value) as variants
    from core.fct_slots as slots
    inner join frames
        on
            slots.turn_key = frames.turn_key
            and slots.frame_index = frames.frame_index
    where slots.annotation_type = 'state' and slots.split = (select chosen.split from chosen)
    group by frames.dialogue_key, frames.service, slots.slot_name, frames.place
),

neighbours as (
    select
        dialogue_key,
        service,
        place,
        places,
        coalesce(lag(place) over slot = place - 1, false) as is_kept,
        coalesce(lead(place) over slot = place + 1, place = places) as is_staying,
        -- An empty list is one NULL, which is equal to another and has nothing in common with it.
        variants = lag(variants) over slot or list_has_any(variants, lag(variants) over slot) as is_same
    from slots
    window slot as (partition by dialogue_key, service, slot_name order by place)
),

changes as (
    select
        dialogue_key,
        service,
        place,
        case when is_kept then 'changed' else 'added' end as kind
    from neighbours
    where not is_kept or not is_same
    union all
    -- A slot that the next frame lacks is dropped there.
    select
        dialogue_key,
        service,
        place + 1 as place,
        'dropped' as kind
    from neighbours
    where not is_staying
),

changed as (
    select
        dialogue_key,
        service,
        count(distinct place) as restless_frames,
        max(place) as last_place,
        count(*) filter (where kind = 'added') as added,
        count(*) filter (where kind = 'changed') as changed,
        count(*) filter (where kind = 'dropped') as dropped
    from changes
    group by dialogue_key, service
),

ends as (
    select
        dialogue_key,
        service,
        count(*) as slots
    from neighbours
    where place = places
    group by dialogue_key, service
)

select
    frames.service,

    count(*) as dialogues,
    cast(sum(frames.places) as bigint) as frames,
    round(100.0 * (sum(frames.places) - coalesce(sum(changed.restless_frames), 0)) / sum(frames.places), 1)
        as quiet_percent,
    cast(coalesce(sum(changed.added), 0) as bigint) as added_slots,
    cast(coalesce(sum(changed.changed), 0) as bigint) as changed_slots,
    cast(coalesce(sum(changed.dropped), 0) as bigint) as dropped_slots,
    round(avg(coalesce(ends.slots, 0)), 2) as slots_at_end,
    round(avg(coalesce(changed.last_place, 0)), 2) as frames_until_complete
from frames
left join changed
    on
        frames.dialogue_key = changed.dialogue_key
        and frames.service = changed.service
left join ends
    on
        frames.dialogue_key = ends.dialogue_key
        and frames.service = ends.service
where frames.place = 1
group by frames.service
order by frames.service
