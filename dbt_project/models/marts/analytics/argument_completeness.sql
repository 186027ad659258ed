with

required_slots as (
    select
        corpus_id,
        service,
        slot,
        count(*) over (partition by corpus_id, service) as required_slots
    from {{ ref('dim_slots') }}
    where requirement = 'required' and {{ is_first('slot_definition_key') }}
),

dialogues as (
    select
        services.dialogue_key,
        services.corpus_id,
        services.split,
        dialogues.channel,
        services.service,
        required.required_slots
    from {{ ref('dim_dialogue_services') }} as services
    inner join {{ ref('dim_dialogues') }} as dialogues
        on services.dialogue_key = dialogues.dialogue_key
    inner join (select distinct corpus_id, service, required_slots from required_slots) as required
        on
            services.corpus_id = required.corpus_id
            and services.service = required.service
),

annotated as (
    select
        slots.dialogue_key,
        slots.service,
        slots.slot_name,
        max(case when coalesce(slots.status, 'accept') = 'accept' then 1 else 0 end) as is_filled
    from {{ ref('fct_slots') }} as slots
    inner join required_slots
        on
            slots.corpus_id = required_slots.corpus_id
            and slots.service = required_slots.service
            and slots.slot_name = required_slots.slot
    where slots.annotation_type = 'span'
    group by slots.dialogue_key, slots.service, slots.slot_name
),

filled as (
    select
        dialogue_key,
        service,
        count(*) as annotated_slots,
        sum(is_filled) as filled_slots
    from annotated
    group by dialogue_key, service
)

select
    dialogues.corpus_id,
    dialogues.split,
    dialogues.channel,
    dialogues.service,

    cast(dialogues.required_slots as integer) as required_slot_count,
    cast(count(*) as integer) as dialogue_count,
    cast(count(*) filter (where filled.filled_slots = dialogues.required_slots) as integer) as complete_count,
    count(*) filter (where filled.filled_slots = dialogues.required_slots) / cast(count(*) as double) as complete_share,
    cast(count(*) filter (where filled.annotated_slots = dialogues.required_slots) as integer) as mentioned_count,
    cast(count(*) filter (where filled.annotated_slots is null) as integer) as bare_count,
    sum(coalesce(filled.filled_slots, 0)) / cast(sum(dialogues.required_slots) as double) as filled_slot_share
from dialogues
left join filled
    on
        dialogues.dialogue_key = filled.dialogue_key
        and dialogues.service = filled.service
group by
    dialogues.corpus_id, dialogues.split, dialogues.channel, dialogues.service, dialogues.required_slots
