-- Do the agents of ABCD press the buttons that kb.json prescribes for the subflow, all of them and in that order?
-- One row per flow and subflow.
--
-- Columns
--   flow, subflow: as in ontology.json
--   dialogues: dialogues about the subflow
--   prescribed: the prescribed buttons, in order
--   exact_percent: dialogues where these are pressed, in that order, and nothing else, one decimal
--   in_order_percent: dialogues where they are pressed in that order, whatever is pressed between
--   complete_percent: dialogues where each is pressed, in any order
--   only_prescribed_percent: dialogues where no other button is pressed; one without a button counts
--   buttons_per_dialogue: buttons pressed, mean, two decimals
--   most_skipped: prescribed button that most dialogues lack, the first in the alphabet of equals; NULL when none is
--     lacking
--   most_skipped_dialogues: dialogues that lack it
--   most_added: other button that most dialogues have, the first in the alphabet of equals; NULL when none has one
--   most_added_dialogues: dialogues that have it
--
-- Reads: core.dim_dialogues, core.dim_intent_acts, core.dim_intents, core.fct_actions
-- Expect: exact <= in_order <= complete. An agent may leave a step out for good reason (a customer who gives up), so
--   this measures the guideline's reach, not an agent's fault. A subflow without a dialogue in the build has no row.
-- Source: kb.json lists the buttons; that their order is prescribed is our reading of the guidelines' numbered steps.
with

prescriptions as (
    select
        intent as subflow,
        list(act order by position) as acts,
        string_agg(act, ', ' order by position) as prescribed,
        string_agg('|' || act || '|', '' order by position) as sequence,
        '%' || string_agg('|' || act || '|', '%' order by position) || '%' as pattern
    from core.dim_intent_acts
    group by intent
),

pressed as (
    select
        dialogues.dialogue_key,
        any_value(dialogues.task) as subflow,
        count(actions.act) as buttons,
        coalesce(list(distinct actions.act) filter (where actions.act is not null), []) as acts,
        coalesce(string_agg('|' || actions.act || '|', '' order by actions.turn_index, actions.action_index), '')
            as sequence
    from core.dim_dialogues as dialogues
    left join core.fct_actions as actions
        on dialogues.dialogue_key = actions.dialogue_key
    where dialogues.corpus_id = 'abcd'
    group by dialogues.dialogue_key
),

conformance as (
    select
        pressed.subflow,
        any_value(prescriptions.prescribed) as prescribed,
        count(*) as dialogues,
        avg(pressed.buttons) as buttons_per_dialogue,
        avg(cast(pressed.sequence = prescriptions.sequence as integer)) as exact_share,
        avg(cast(pressed.sequence like prescriptions.pattern as integer)) as in_order_share,
        avg(cast(list_has_all(pressed.acts, prescriptions.acts) as integer)) as complete_share,
        avg(cast(list_has_all(prescriptions.acts, pressed.acts) as integer)) as only_prescribed_share
    from pressed
    left join prescriptions
        on pressed.subflow = prescriptions.subflow
    group by pressed.subflow
),

skipped as (
    select
        pressed.subflow,
        acts.act,
        count(distinct pressed.dialogue_key) as dialogues
    from pressed
    inner join core.dim_intent_acts as acts
        on
            pressed.subflow = acts.intent
            and not list_contains(pressed.acts, acts.act)
    group by pressed.subflow, acts.act
    qualify row_number() over (partition by pressed.subflow order by dialogues desc, acts.act) = 1
),

added as (
    select
        presses.subflow,
        presses.act,
        count(*) as dialogues
    from (
        select
            subflow,
            unnest(acts) as act
        from pressed
    ) as presses
    left join core.dim_intent_acts as acts
        on
            presses.subflow = acts.intent
            and presses.act = acts.act
    where acts.act is null
    group by presses.subflow, presses.act
    qualify row_number() over (partition by presses.subflow order by dialogues desc, presses.act) = 1
)

select
    intents.parent_intent as flow,
    conformance.subflow,

    conformance.dialogues,
    conformance.prescribed,
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
left join core.dim_intents as intents
    on
        intents.corpus_id = 'abcd'
        and conformance.subflow = intents.intent
left join skipped
    on conformance.subflow = skipped.subflow
left join added
    on conformance.subflow = added.subflow
order by intents.parent_position, intents.position, conformance.subflow
