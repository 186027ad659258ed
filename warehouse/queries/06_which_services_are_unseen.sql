-- Which services of SGD's validation and test splits are missing from the train schema, and what is their share?
-- One row per split and service.
--
-- Columns
--   split: validation or test
--   service, domain: service of the split's schema, and its domain
--   is_seen: true if the train schema has the service: the #SEEN and #UNSEEN of the official evaluation
--   is_domain_seen: true if the train schema has a service of the domain
--   dialogues: dialogues of the split with the service
--   dialogues_percent: their share of the split's dialogues, one decimal; a dialogue can have up to four services
--   frames: frames with a belief state of the service, the unit in which the official metrics count
--   frames_percent: their share of the split's frames with a belief state, one decimal
--   slots, unseen_slots: slots of the service; slots whose name no service of the train schema has
--   intents, unseen_intents: the same for intents
--
-- Reads: core.dim_services, core.dim_slots, core.dim_intents, analytics.service_exposure
-- Expect: 38 rows; sum frames_percent over `not is_seen` for the share that an evaluation spends on unseen services. In
--   a build without the train schema no service is seen.
-- Source: 8 of 17 services of dev and 15 of 21 of test are unseen, counted in the release's three schema.json; SGD's
--   evaluation scripts group by the same property.
with

train_domains as (
    select distinct domain
    from core.dim_services
    where corpus_id = 'sgd' and split = 'train'
),

train_names as (
    select
        'slot' as kind,
        slot as name
    from core.dim_slots
    where corpus_id = 'sgd' and split = 'train'
    union
    select
        'intent' as kind,
        intent as name
    from core.dim_intents
    where corpus_id = 'sgd' and split = 'train'
),

names as (
    select
        split,
        service,
        'slot' as kind,
        slot as name
    from core.dim_slots
    where corpus_id = 'sgd'
    union all
    select
        split,
        service,
        'intent' as kind,
        intent as name
    from core.dim_intents
    where corpus_id = 'sgd'
),

vocabularies as (
    select
        names.split,
        names.service,
        count(*) filter (where names.kind = 'slot') as slots,
        count(*) filter (where names.kind = 'slot' and train_names.name is null) as unseen_slots,
        count(*) filter (where names.kind = 'intent') as intents,
        count(*) filter (where names.kind = 'intent' and train_names.name is null) as unseen_intents
    from names
    left join train_names
        on
            names.kind = train_names.kind
            and names.name = train_names.name
    group by names.split, names.service
)

select
    exposure.split,
    exposure.service,
    exposure.domain,

    exposure.is_seen,
    train_domains.domain is not null as is_domain_seen,

    exposure.dialogue_count as dialogues,
    round(100 * exposure.dialogue_share, 1) as dialogues_percent,
    exposure.state_frame_count as frames,
    round(100 * exposure.state_frame_share, 1) as frames_percent,

    coalesce(vocabularies.slots, 0) as slots,
    coalesce(vocabularies.unseen_slots, 0) as unseen_slots,
    coalesce(vocabularies.intents, 0) as intents,
    coalesce(vocabularies.unseen_intents, 0) as unseen_intents
from analytics.service_exposure as exposure
left join train_domains
    on exposure.domain = train_domains.domain
left join vocabularies
    on
        exposure.split = vocabularies.split
        and exposure.service = vocabularies.service
where exposure.corpus_id = 'sgd' and exposure.split <> 'train'
order by exposure.split desc, exposure.is_seen, exposure.service
