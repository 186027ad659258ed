with

-- A definition without a split counts for each split.
listed_slots as (
    select
        splits.corpus_id,
        splits.split,
        slots.service,
        slots.slot,
        slots.is_categorical,
        slots.requirement,
        slots.possible_values
    from (select distinct corpus_id, split from {{ ref('dim_dialogues') }}) as splits
    inner join {{ ref('dim_slots') }} as slots
        on
            splits.corpus_id = slots.corpus_id
            and (slots.split is null or splits.split = slots.split)
),

-- A slot may be listed again, in the same list or in another group. It is required if one of these entries says so.
definitions as (
    select
        corpus_id,
        split,
        service,
        slot,
        max(cast(is_categorical as integer)) = 1 as is_categorical,
        max(requirement) as requirement
    from listed_slots
    group by corpus_id, split, service, slot
),

possible_values as (
    select
        corpus_id,
        split,
        service,
        slot,
        {{ explode_indexed('possible_values', 'value', 'place') }}
    from listed_slots
),

listed_values as (
    select distinct
        corpus_id,
        split,
        service,
        slot,
        value
    from possible_values
),

listed_counts as (
    select corpus_id, split, service, slot, count(*) as listed_values
    from listed_values
    group by corpus_id, split, service, slot
),

annotated_values as (
    select
        corpus_id,
        split,
        annotation_type,
        service,
        slot_name,
        value,
        count(*) as annotations
    from {{ ref('fct_slots') }}
    group by corpus_id, split, annotation_type, service, slot_name, value
),

-- Values that differ only in case are one value. A value is listed if the definition has it in exactly the same form.
folded_values as (
    select
        annotated.corpus_id,
        annotated.split,
        annotated.annotation_type,
        annotated.service,
        annotated.slot_name,
        {{ lower_case('annotated.value') }} as value,
        sum(annotated.annotations) as annotations,
        sum(case when listed.value is not null then annotated.annotations else 0 end) as listed_annotations,
        count(listed.value) as used_values
    from annotated_values as annotated
    left join listed_values as listed
        on
            annotated.corpus_id = listed.corpus_id
            and annotated.slot_name = listed.slot
            and annotated.value = listed.value
            and annotated.service is not distinct from listed.service
            and annotated.split is not distinct from listed.split
    group by
        annotated.corpus_id, annotated.split, annotated.annotation_type, annotated.service, annotated.slot_name,
        {{ lower_case('annotated.value') }}
),

slots as (
    select
        corpus_id,
        split,
        annotation_type,
        service,
        slot_name,
        sum(annotations) as annotations,
        sum(listed_annotations) as listed_annotations,
        sum(used_values) as used_values,
        cast(coalesce(sum(case when value is not null then annotations end), 0) as double) as value_annotations,
        count(value) as folded_values,
        -- Decimals, because their sum does not depend on the order of the rows; the sum of floats does.
        cast(
            sum(case when value is not null then cast(annotations * ln(annotations) as decimal(38, 15)) end) as double
        ) as weighted_logarithms
    from folded_values
    group by corpus_id, split, annotation_type, service, slot_name
),

dialogue_slots as (
    select
        corpus_id,
        split,
        annotation_type,
        service,
        slot_name,
        dialogue_key
    from {{ ref('fct_slots') }}
    group by corpus_id, split, annotation_type, service, slot_name, dialogue_key
),

-- The dialogues in which a slot can occur: the dialogues of its service, or all dialogues if there are no services.
service_dialogues as (
    select distinct
        corpus_id,
        split,
        service,
        dialogue_key
    from {{ ref('dim_dialogue_services') }}
),

coverage as (
    select
        slots.corpus_id,
        slots.split,
        slots.annotation_type,
        slots.service,
        slots.slot_name,
        count(*) as dialogues,
        count(services.dialogue_key) as service_dialogues
    from dialogue_slots as slots
    left join service_dialogues as services
        on
            slots.dialogue_key = services.dialogue_key
            and slots.service is not distinct from services.service
    group by slots.corpus_id, slots.split, slots.annotation_type, slots.service, slots.slot_name
),

service_sizes as (
    select corpus_id, split, service, count(*) as dialogues
    from service_dialogues
    group by corpus_id, split, service
),

profiles as (
    select
        coalesce(slots.corpus_id, definitions.corpus_id) as corpus_id,
        coalesce(slots.split, definitions.split) as split,
        slots.annotation_type,
        coalesce(slots.service, definitions.service) as service,
        coalesce(slots.slot_name, definitions.slot) as slot_name,
        definitions.slot is not null as is_defined,
        definitions.is_categorical,
        definitions.requirement,
        slots.annotations,
        slots.listed_annotations,
        slots.used_values,
        slots.value_annotations,
        slots.folded_values,
        slots.weighted_logarithms
    from slots
    full join definitions
        on
            slots.corpus_id = definitions.corpus_id
            and slots.slot_name = definitions.slot
            and slots.service is not distinct from definitions.service
            and slots.split is not distinct from definitions.split
)

select
    profiles.corpus_id,
    profiles.split,
    profiles.annotation_type,
    profiles.service,
    profiles.slot_name,

    profiles.is_defined,
    profiles.is_categorical,
    profiles.requirement,

    cast(coalesce(profiles.annotations, 0) as integer) as annotation_count,
    cast(coalesce(coverage.dialogues, 0) as integer) as annotated_dialogue_count,
    coalesce(coverage.service_dialogues, 0) / cast(service_sizes.dialogues as double) as service_dialogue_share,
    cast(coalesce(profiles.folded_values, 0) as integer) as value_count,
    case
        when profiles.value_annotations > 0
            then
                round(
                    greatest(
                        ln(profiles.value_annotations) - profiles.weighted_logarithms / profiles.value_annotations, 0
                    ) / ln(2),
                    9
                )
    end as value_entropy,
    case
        when profiles.value_annotations > 0 and listed_counts.listed_values > 0
            then profiles.listed_annotations / profiles.value_annotations
    end as listed_share,
    cast(listed_counts.listed_values as integer) as listed_value_count,
    cast(listed_counts.listed_values - coalesce(profiles.used_values, 0) as integer) as unused_value_count
from profiles
left join listed_counts
    on
        profiles.corpus_id = listed_counts.corpus_id
        and profiles.slot_name = listed_counts.slot
        and profiles.split is not distinct from listed_counts.split
        and profiles.service is not distinct from listed_counts.service
left join coverage
    on
        profiles.corpus_id = coverage.corpus_id
        and profiles.annotation_type = coverage.annotation_type
        and profiles.split is not distinct from coverage.split
        and profiles.service is not distinct from coverage.service
        and profiles.slot_name is not distinct from coverage.slot_name
left join service_sizes
    on
        profiles.corpus_id = service_sizes.corpus_id
        and profiles.split is not distinct from service_sizes.split
        and profiles.service is not distinct from service_sizes.service
