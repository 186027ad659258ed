{#- Defects and properties of ABCD: one CTE per rule, named after the rule; claims.toml describes each under
    [[defects]].
    Longer than 240 lines: one file per corpus, because each node costs dbt some 20 ms per build. -#}
with

dialogues as (
    select
        dialogue_key,
        task,
        source_task
    from {{ ref('dim_dialogues') }}
    where corpus_id = 'abcd'
),

turns as (
    select
        turns.dialogue_key,
        turns.turn_index,
        turns.turn_key,
        turns.event_type,
        turns.utterance,
        turns.intent,
        dialogues.task
    from {{ ref('fct_turns') }} as turns
    inner join dialogues
        on turns.dialogue_key = dialogues.dialogue_key
),

-- The scenario names a question of the FAQ (timing_4); the targets and the ontology name only the subflow (timing).
numbered_subflow as (
    select
        dialogue_key,
        dialogue_key as row_key,
        'scenario.subflow is ' || source_task || ', the subflow is ' || task as detail
    from dialogues
    where source_task <> task
),

-- A turn's intent is another subflow than the scenario's, even without the question's number.
subflow_mismatch as (
    select
        dialogue_key,
        turn_index,
        turn_key as row_key,
        'intent ' || intent || ' in a conversation about ' || task as detail
    from turns
    where intent <> task
),

-- The text of an action has a word that is misspelled in its template.
misspelled_action as (
    select
        dialogue_key,
        turn_index,
        turn_key as row_key,
        utterance as detail
    from turns
    where event_type = 'action' and {{ lower_case('utterance') }} like '%in progess%'
),

-- A retrieval without 100 candidates, or with a target that is not among them.
broken_candidates as (
    select
        dialogue_key,
        turn_index,
        candidates_key as row_key,
        cast(cardinality(candidate_ids) as string) || ' candidates, target position '
            || coalesce(cast(target_position as string), 'NULL') as detail
    from {{ ref('fct_candidates') }}
    where
        corpus_id = 'abcd'
        and (
            cardinality(candidate_ids) <> 100
            or coalesce(target_position, -1) not between 0 and cardinality(candidate_ids) - 1
        )
),

prescribed as (
    select
        intent,
        act,
        max(position) as position
    from {{ ref('dim_intent_acts') }}
    where corpus_id = 'abcd'
    group by intent, act
),

pressed as (
    select
        actions.dialogue_key,
        actions.turn_index,
        actions.action_key,
        actions.act,
        actions.service,
        actions.slot_name,
        dialogues.task,
        prescribed.position,
        max(prescribed.position) over (
            partition by actions.dialogue_key
            order by actions.turn_index, actions.action_index
            rows between unbounded preceding and 1 preceding
        ) as furthest
    from {{ ref('fct_actions') }} as actions
    inner join dialogues
        on actions.dialogue_key = dialogues.dialogue_key
    left join prescribed
        on
            dialogues.task = prescribed.intent
            and actions.act = prescribed.act
),

-- A button that kb.json does not list for the subflow.
unlisted_action as (
    select
        pressed.dialogue_key,
        pressed.turn_index,
        pressed.action_key as row_key,
        pressed.service,
        pressed.slot_name,
        pressed.act || ' is not an action of ' || pressed.task as detail
    from pressed
    where
        pressed.position is null
        and exists (select 1 from prescribed where pressed.task = prescribed.intent)
),

-- A button that is pressed after one that follows it in kb.json.
unordered_action as (
    select
        dialogue_key,
        turn_index,
        action_key as row_key,
        service,
        slot_name,
        act || ' is pressed too late for ' || task as detail
    from pressed
    where position < furthest
),

-- A button of kb.json that is not pressed. An agent may have a good reason, such as a customer who gives up.
skipped_action as (
    select
        dialogues.dialogue_key,
        dialogues.dialogue_key as row_key,
        prescribed.act || ' is never pressed for ' || dialogues.task as detail
    from dialogues
    inner join prescribed
        on dialogues.task = prescribed.intent
    left join pressed
        on
            dialogues.dialogue_key = pressed.dialogue_key
            and prescribed.act = pressed.act
    where pressed.dialogue_key is null
),

-- A field with a list in Python's notation, which is not JSON.
python_literal as (
    select
        scenario_key as dialogue_key,
        scenario_key as row_key,
        section || '.' || field || ' is ' || substring(value, 1, 20) || ' …' as detail
    from {{ ref('dim_scenario_values') }}
    where corpus_id = 'abcd' and value like '[{''%'
),

definitions as (
    select
        definitions.slot_definition_key,
        definitions.service,
        definitions.slot,
        {{ explode_indexed('definitions.possible_values', 'value', 'value_index') }}
    from {{ ref('dim_slots') }} as definitions
    where definitions.corpus_id = 'abcd' and definitions.is_categorical
),

-- A value that the ontology lists twice: 127 are listed, 126 are different, 125 are documented.
repeated_value as (
    select
        slot_definition_key as row_key,
        first_key as other_key,
        service,
        slot as slot_name,
        value || ' of ' || slot || ' is already listed' as detail
    from (
        select
            *,
            row_number() over (partition by value order by slot_definition_key, value_index) as occurrence,
            first_value(slot_definition_key) over (
                partition by value order by slot_definition_key, value_index
            ) as first_key
        from definitions
    ) as listed
    where occurrence > 1
),

offered as (
    select distinct {{ same_text('value') }} as text
    from definitions
),

buttons as (
    select
        act,
        max(case when contains(slot, 'slotval') then 1 else 0 end) as takes_own_words
    from {{ ref('dim_act_slots') }}
    where corpus_id = 'abcd'
    group by act
),

entered as (
    select
        slots.dialogue_key,
        slots.turn_index,
        slots.slot_key,
        slots.service,
        slots.slot_name,
        slots.value,
        actions.act
    from {{ ref('fct_slots') }} as slots
    inner join {{ ref('fct_actions') }} as actions
        on
            slots.turn_key = actions.turn_key
            and slots.action_index = actions.action_index
    inner join buttons
        on actions.act = buttons.act
    where
        slots.corpus_id = 'abcd'
        and slots.annotation_type = 'action_value'
        and (buttons.takes_own_words = 0 or regexp_extract(slots.value, '[0-9]', 0) <> '')
        and not exists (
            select 1
            from {{ ref('dim_scenario_values') }} as scenario
            where
                slots.dialogue_key = scenario.scenario_key
                and {{ lower_case('slots.value') }} = {{ lower_case('scenario.value') }}
        )
),

doubtful as (
    select
        entered.dialogue_key,
        entered.turn_index,
        entered.slot_key,
        entered.service,
        entered.slot_name,
        entered.value,
        entered.act,
        {{ same_text('entered.value') }} as text
    from entered
    left join offered
        on {{ same_text('entered.value') }} = offered.text
    where offered.text is null
),

said as (
    select
        dialogue_key,
        {{ same_text(list_join(list_agg_ordered('utterance', 'turn_index'), "' '")) }} as text
    from turns
    where event_type = 'utterance' and dialogue_key in (select doubtful.dialogue_key from doubtful)
    group by dialogue_key
),

known as (
    select
        scenario_key as dialogue_key,
        {{ same_text(list_join(list_agg_ordered('value', 'section, field, value_index'), "' '")) }} as text
    from {{ ref('dim_scenario_values') }}
    where corpus_id = 'abcd' and scenario_key in (select doubtful.dialogue_key from doubtful)
    group by scenario_key
),

-- A value entered with a button, although no speaker says it, the scenario does not have it and the ontology does not
-- offer it. If a button takes reasons or details in the agent's own words, only values with a digit are checked.
unsaid_value as (
    select
        doubtful.dialogue_key,
        doubtful.turn_index,
        doubtful.slot_key as row_key,
        doubtful.service,
        doubtful.slot_name,
        doubtful.act || ' with ' || doubtful.value || ', which no speaker says' as detail
    from doubtful
    left join said
        on doubtful.dialogue_key = said.dialogue_key
    left join known
        on doubtful.dialogue_key = known.dialogue_key
    where
        not contains(coalesce(said.text, ''), doubtful.text)
        and not contains(coalesce(known.text, ''), doubtful.text)
),

guidelines as (
    select
        guidelines.guideline_key,
        guidelines.subflow_title,
        guidelines.intent
    from {{ ref('dim_guidelines') }} as guidelines
    where guidelines.corpus_id = 'abcd'
),

-- The title of a guideline is not the name of its subflow in the ontology.
renamed_guideline as (
    select
        guideline_key as row_key,
        subflow_title || coalesce(' is called ' || intent, ' is not a subflow') || ' in the ontology' as detail
    from guidelines
    where
        subflow_title is not null
        and replace(replace({{ lower_case('subflow_title') }}, ' ', '_'), '-', '_') <> coalesce(intent, '')
        and exists (select 1 from {{ ref('dim_intents') }} as subflows where subflows.corpus_id = 'abcd')
),

-- A step of the guidelines presses a button that is not an action.
button_without_action as (
    select
        guidelines.guideline_key as row_key,
        'step ' || cast(steps.step_index as string) || ' of ' || guidelines.subflow_title || ' presses '
            || steps.button as detail
    from {{ ref('dim_guideline_steps') }} as steps
    inner join guidelines
        on steps.guideline_key = guidelines.guideline_key
    where
        steps.button is not null
        and steps.act is null
        and exists (
            select 1
            from {{ ref('dim_acts') }} as acts
            where acts.corpus_id = 'abcd' and acts.act_group is not null
        )
),

ontology as (
    select source_file_id
    from {{ ref('dim_source_files') }}
    where corpus_id = 'abcd' and entity = 'ontology'
),

listed as (
    select
        'flow ' || flow as entry,
        flow as name,
        'flows' as list,
        position
    from {{ ref('dim_flows') }}
    where corpus_id = 'abcd'

    union all

    -- A button belongs to the group in which the ontology lists it. The same group cannot list it again, another group
    -- can.
    select
        'button ' || act as entry,
        act as name,
        'buttons' as list,
        act_occurrence as position
    from {{ ref('dim_acts') }}
    where corpus_id = 'abcd' and act_group is not null

    union all

    select
        'slot ' || slot || ' of ' || act as entry,
        slot as name,
        act || '/' || cast(act_occurrence as string) as list,
        position
    from {{ ref('dim_act_slots') }}
    where corpus_id = 'abcd'

    union all

    select
        replace(kind, '_', ' ') || ' ' || term as entry,
        term as name,
        kind as list,
        position
    from {{ ref('dim_vocabulary') }}
    where corpus_id = 'abcd'
),

-- A flow, a button, a slot of a button or a term that the ontology lists again. A shared rule covers intents and slots.
repeated_entry as (
    select
        ontology.source_file_id,
        0 as record_index,
        numbered.entry || ' is already listed' as detail
    from (
        select
            entry,
            row_number() over (partition by list, name order by position) as occurrence
        from listed
    ) as numbered
    cross join ontology
    where numbered.occurrence > 1
)

{{ stack_rules(
    'abcd',
    turns=[
        'subflow_mismatch',
        'misspelled_action',
        'broken_candidates',
        'unlisted_action',
        'unordered_action',
        'unsaid_value'
    ],
    dialogues=[
        'numbered_subflow',
        'skipped_action',
        'python_literal'
    ],
    definitions=[
        'repeated_value',
        'renamed_guideline',
        'button_without_action'
    ],
    files=['repeated_entry'],
    others=[
        'repeated_value'
    ],
    slots=[
        'unlisted_action',
        'unordered_action',
        'unsaid_value',
        'repeated_value'
    ]
) }}
