-- Do the agents of ABCD press the buttons that kb.json prescribes for the subflow, all of them and in that order?
-- One row per flow and subflow.
--
-- Columns
--   flow, subflow: as in ontology.json
--   dialogues: dialogues about the subflow
--   prescribed: the prescribed buttons, in order
--   exact_percent: dialogues where these buttons are pressed in that order, and no others; one decimal
--   in_order_percent: dialogues where they are pressed in that order, possibly with other buttons between them
--   complete_percent: dialogues where each is pressed, in any order
--   only_prescribed_percent: dialogues where no other button is pressed; includes dialogues without a button
--   buttons_per_dialogue: buttons pressed, mean, two decimals
--   most_skipped: prescribed button that most dialogues lack; of several, the alphabetically first; NULL if none is
--     missing
--   most_skipped_dialogues: dialogues that lack it
--   most_added: other button that most dialogues have; of several, the alphabetically first; NULL if there is none
--   most_added_dialogues: dialogues that have it
--
-- Reads: core.dim_intent_acts, core.dim_intents, analytics.guideline_conformance
-- Expect: exact <= in_order <= complete. An agent may leave a step out for a good reason (a customer who gives up),
--   so the query measures how far the guideline applies, not the errors of an agent. A subflow without dialogues in
--   the build has no row.
-- Source: kb.json lists the buttons. Their order as a prescription is this project's interpretation of the numbered
--   steps in the guidelines.
with

prescriptions as (
    select
        intent as subflow,
        string_agg(act, ', ' order by position) as prescribed
    from core.dim_intent_acts
    group by intent
),

conformance as (
    select
        task as subflow,
        count(*) as dialogues,
        avg(action_count) as buttons_per_dialogue,
        avg(cast(conformance = 'exact' as integer)) as exact_share,
        avg(cast(conformance in ('exact', 'interrupted') as integer)) as in_order_share,
        avg(cast(missing_count = 0 as integer)) as complete_share,
        avg(cast(extra_count = 0 as integer)) as only_prescribed_share
    from analytics.guideline_conformance
    group by task
),

skipped as (
    select
        subflow,
        act,
        count(*) as dialogues
    from (
        select
            task as subflow,
            unnest(missing_acts) as act
        from analytics.guideline_conformance
    ) as missing
    group by subflow, act
    qualify row_number() over (partition by subflow order by dialogues desc, act) = 1
),

added as (
    select
        subflow,
        act,
        count(*) as dialogues
    from (
        select
            task as subflow,
            unnest(extra_acts) as act
        from analytics.guideline_conformance
    ) as extra
    group by subflow, act
    qualify row_number() over (partition by subflow order by dialogues desc, act) = 1
)

select
    intents.parent_intent as flow,
    conformance.subflow,

    conformance.dialogues,
    prescriptions.prescribed,
    round(100 * conformance.exact_share, 1) as exact_percent,
    round(100 * conformance.in_order_share, 1) as in_order_percent,
    round(100 * conformance.complete_share, 1) as complete_percent,
    round(100 * conformance.only_prescribed_share, 1) as only_prescribed_percent,
    round(conformance.buttons_per_dialogue, 2) as buttons_per_dialogue,

    skipped.act as most_skipped,
    coalesce(skipped.dialogues, 0) as most_skipped_dialogues,
    added.act as most_added,
    coalesce(added.dialogues, 0) as most_added_dialogues
from conformance
left join prescriptions
    on conformance.subflow = prescriptions.subflow
left join core.dim_intents as intents
    on
        intents.corpus_id = 'abcd'
        and conformance.subflow = intents.intent
left join skipped
    on conformance.subflow = skipped.subflow
left join added
    on conformance.subflow = added.subflow
order by intents.parent_position, intents.position, conformance.subflow
