{#- Sequences are compared as texts, with each act between bars. `%` in a pattern matches other acts; the signs of a
    pattern in the name of an act are written with `!` before them. -#}
{%- set in_pattern = "'|' || replace(replace(replace(act, '!', '!!'), '%', '!%'), '_', '!_') || '|'" -%}
with

prescriptions as (
    select
        corpus_id,
        intent,
        count(*) as acts,
        {{ list_join(list_agg_ordered("'|' || act || '|'", 'position'), "''") }} as act_sequence,
        '%' || {{ list_join(list_agg_ordered(in_pattern, 'position'), "'%'") }} || '%' as act_pattern
    from {{ ref('dim_intent_acts') }}
    group by corpus_id, intent
),

dialogues as (
    select
        dialogue_key,
        corpus_id,
        split,
        task
    from {{ ref('dim_dialogues') }}
    where corpus_id in (select corpus_id from {{ ref('dim_corpora') }} where goal_kind = 'follow_guideline')
),

actions as (
    select
        actions.dialogue_key,
        actions.act,
        dialogues.corpus_id,
        dialogues.task,
        row_number() over (partition by actions.dialogue_key order by actions.turn_index, actions.action_index) as place
    from {{ ref('fct_actions') }} as actions
    inner join dialogues
        on actions.dialogue_key = dialogues.dialogue_key
    where actions.act is not null
),

pressed as (
    select
        dialogue_key,
        count(*) as acts,
        {{ list_join(list_agg_ordered("'|' || act || '|'", 'place'), "''") }} as act_sequence,
        '%' || {{ list_join(list_agg_ordered(in_pattern, 'place'), "'%'") }} || '%' as act_pattern
    from actions
    group by dialogue_key
),

presses as (
    select
        dialogue_key,
        corpus_id,
        task,
        act,
        min(place) as place
    from actions
    group by dialogue_key, corpus_id, task, act
),

-- An act that is prescribed again is missing once.
prescribed_acts as (
    select
        corpus_id,
        intent,
        act,
        min(position) as position
    from {{ ref('dim_intent_acts') }}
    group by corpus_id, intent, act
),

missing as (
    select
        dialogues.dialogue_key,
        {{ list_agg_ordered('prescribed.act', 'prescribed.position') }} as acts,
        count(*) as act_count
    from dialogues
    inner join prescribed_acts as prescribed
        on
            dialogues.corpus_id = prescribed.corpus_id
            and dialogues.task = prescribed.intent
    left join presses
        on
            dialogues.dialogue_key = presses.dialogue_key
            and prescribed.act = presses.act
    where presses.act is null
    group by dialogues.dialogue_key
),

extra as (
    select
        presses.dialogue_key,
        {{ list_agg_ordered('presses.act', 'presses.place') }} as acts,
        count(*) as act_count
    from presses
    left join prescribed_acts as prescribed
        on
            presses.corpus_id = prescribed.corpus_id
            and presses.task = prescribed.intent
            and presses.act = prescribed.act
    where prescribed.act is null
    group by presses.dialogue_key
),

compared as (
    select
        dialogues.dialogue_key,
        dialogues.corpus_id,
        dialogues.split,
        dialogues.task,
        coalesce(prescriptions.acts, 0) as prescribed_count,
        coalesce(pressed.acts, 0) as action_count,
        coalesce(pressed.act_sequence, '') = prescriptions.act_sequence as is_exact,
        coalesce(pressed.act_sequence, '') like prescriptions.act_pattern escape '!' as is_in_order,
        prescriptions.act_sequence like coalesce(pressed.act_pattern, '%') escape '!' as is_subsequence
    from dialogues
    left join prescriptions
        on
            dialogues.corpus_id = prescriptions.corpus_id
            and dialogues.task = prescriptions.intent
    left join pressed
        on dialogues.dialogue_key = pressed.dialogue_key
)

select
    compared.dialogue_key,
    compared.corpus_id,
    compared.split,
    compared.task,

    case
        when compared.is_exact then 'exact'
        when compared.is_in_order then 'interrupted'
        when compared.is_subsequence then 'shortened'
        when compared.prescribed_count > 0 then 'broken'
    end as conformance,
    cast(compared.prescribed_count as integer) as prescribed_count,
    cast(compared.action_count as integer) as action_count,
    case when compared.prescribed_count > 0 then cast(coalesce(missing.act_count, 0) as integer) end as missing_count,
    case when compared.prescribed_count > 0 then cast(coalesce(extra.act_count, 0) as integer) end as extra_count,
    missing.acts as missing_acts,
    case when compared.prescribed_count > 0 then extra.acts end as extra_acts
from compared
left join missing
    on compared.dialogue_key = missing.dialogue_key
left join extra
    on compared.dialogue_key = extra.dialogue_key
