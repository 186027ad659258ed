{#- Defects and properties of MutualFriends: one CTE per rule, named after the rule; claims.toml describes each
    under [[defects]].
    Longer than 240 lines: one file per corpus, because each node costs dbt some 20 ms per build. -#}
with

items as (
    select
        dialogue_key,
        agent,
        item_index,
        max(case when is_shared then 1 else 0 end) as is_shared,
        count(*) as attribute_count,
        min(value) as first_value,
        max(value) as last_value,
        sum(length(value)) as characters
    from {{ ref('fct_knowledge_items') }}
    where corpus_id = 'mutualfriends'
    group by dialogue_key, agent, item_index
),

-- Friends without attributes, and lists without friends, which have no item_index.
empty_places as (
    select
        dialogues.dialogue_key,
        split_part(exceptions.json_pointer, '/', 5) as agent,
        cast(nullif(split_part(exceptions.json_pointer, '/', 6), '') as integer) as item_index
    from {{ ref('source_exceptions') }} as exceptions
    inner join {{ ref('dim_dialogues') }} as dialogues
        on
            exceptions.source_file_id = dialogues.source_file_id
            and split_part(exceptions.json_pointer, '/', 2) = cast(dialogues.record_index as string)
    where exceptions.corpus_id = 'mutualfriends'
),

friends as (
    select
        dialogue_key,
        agent,
        item_index,
        is_shared,
        attribute_count
    from items

    union all

    select
        dialogue_key,
        agent,
        item_index,
        0 as is_shared,
        0 as attribute_count
    from empty_places
),

knowledge as (
    select
        dialogue_key,
        agent,
        count(item_index) as item_count,
        sum(is_shared) as shared_count
    from friends
    group by dialogue_key, agent
),

-- Not exactly one friend in common: the task has no solution, or several. A dialogue may have no list at all.
shared_friends as (
    select
        dialogues.dialogue_key,
        dialogues.dialogue_key as row_key,
        'the agents share from ' || cast(coalesce(min(knowledge.shared_count), 0) as string) || ' to '
            || cast(coalesce(max(knowledge.shared_count), 0) as string) || ' friends' as detail
    from {{ ref('dim_dialogues') }} as dialogues
    left join knowledge
        on dialogues.dialogue_key = knowledge.dialogue_key
    where dialogues.corpus_id = 'mutualfriends'
    group by dialogues.dialogue_key
    having coalesce(min(knowledge.shared_count), 0) <> 1 or coalesce(max(knowledge.shared_count), 0) <> 1
),

-- The knowledge bases of the two agents have different sizes.
unequal_knowledge as (
    select
        dialogue_key,
        dialogue_key as row_key,
        'the agents have from ' || cast(min(item_count) as string) || ' to ' || cast(max(item_count) as string)
            || ' friends' as detail
    from knowledge
    group by dialogue_key
    having min(item_count) <> max(item_count)
),

attributes as (
    select
        scenario_key,
        count(distinct attribute) as attribute_count
    from {{ ref('dim_scenario_attributes') }}
    where corpus_id = 'mutualfriends'
    group by scenario_key
),

-- A scenario lists an attribute twice, although a friend can have it only once.
repeated_attribute as (
    select
        dialogue_key,
        dialogue_key as row_key,
        'attribute ' || attribute || ' is already listed' as detail
    from (
        select
            scenario_key as dialogue_key,
            attribute,
            row_number() over (partition by scenario_key, attribute order by position) as occurrence
        from {{ ref('dim_scenario_attributes') }}
        where corpus_id = 'mutualfriends' and attribute is not null
    ) as listed
    where occurrence > 1
),

-- A friend has more or fewer attributes than the scenario.
incomplete_friend as (
    select
        friends.dialogue_key,
        friends.dialogue_key as row_key,
        'friend ' || cast(friends.item_index as string) || ' of agent ' || friends.agent || ' has '
            || cast(friends.attribute_count as string) || ' attributes, the scenario has '
            || cast(coalesce(attributes.attribute_count, 0) as string) as detail
    from friends
    left join attributes
        on friends.dialogue_key = attributes.scenario_key
    where friends.item_index is not null and friends.attribute_count <> coalesce(attributes.attribute_count, 0)
),

-- The whole text is compared only for items that look alike: joining the texts of all items would cost half a second.
alike as (
    select
        dialogue_key,
        agent,
        first_value,
        last_value,
        characters
    from items
    group by dialogue_key, agent, first_value, last_value, characters
    having count(*) > 1
),

likely_equal as (
    select
        items.dialogue_key,
        items.agent,
        items.item_index
    from items
    inner join alike
        on
            items.dialogue_key = alike.dialogue_key
            and items.agent = alike.agent
            and items.first_value = alike.first_value
            and items.last_value = alike.last_value
            and items.characters = alike.characters
),

item_texts as (
    select
        facts.dialogue_key,
        facts.agent,
        facts.item_index,
        {{ list_join(list_agg_ordered("facts.attribute || ': ' || facts.value", 'facts.attribute'), "', '") }} as text
    from {{ ref('fct_knowledge_items') }} as facts
    inner join likely_equal
        on
            facts.dialogue_key = likely_equal.dialogue_key
            and facts.agent = likely_equal.agent
            and facts.item_index = likely_equal.item_index
    group by facts.dialogue_key, facts.agent, facts.item_index

    union all

    select
        dialogue_key,
        agent,
        item_index,
        'no attributes' as text
    from empty_places
    where item_index is not null
),

-- An agent has two friends with identical attributes.
repeated_friend as (
    select
        dialogue_key,
        dialogue_key as row_key,
        'agent ' || agent || ' has ' || cast(count(*) as string) || ' identical friends: ' || text as detail
    from item_texts
    group by dialogue_key, agent, text
    having count(*) > 1
),

selections as (
    select
        actions.dialogue_key,
        actions.turn_index,
        actions.turn_key,
        actions.action_key,
        actions.service,
        actions.slot_name,
        actions.item_index,
        turns.source_speaker as agent,
        max(actions.turn_index) over (partition by actions.dialogue_key, turns.source_speaker) as last_turn
    from {{ ref('fct_actions') }} as actions
    inner join {{ ref('fct_turns') }} as turns
        on actions.turn_key = turns.turn_key
    where actions.corpus_id = 'mutualfriends'
),

-- The selected friend is not on the selector's own list.
selected_stranger as (
    select
        dialogue_key,
        turn_index,
        action_key as row_key,
        service,
        slot_name,
        'agent ' || agent || ' selects a friend that is not on its list' as detail
    from selections
    where item_index is null
),

shared_items as (
    select
        dialogue_key,
        agent,
        item_index,
        {{ item_text() }} as item_text
    from {{ ref('fct_knowledge_items') }}
    where corpus_id = 'mutualfriends' and is_shared
    group by dialogue_key, agent, item_index
),

outcomes as (
    select
        selections.dialogue_key,
        count(*) as finder_count,
        count(*) = 2 and count(distinct shared_items.item_text) = 1 as is_found
    from selections
    inner join shared_items
        on
            selections.dialogue_key = shared_items.dialogue_key
            and selections.agent = shared_items.agent
            and selections.item_index = shared_items.item_index
    where selections.turn_index = selections.last_turn
    group by selections.dialogue_key
),

-- The reward is 1 if both agents have selected the shared friend in the end, and only then. If they share several, it
-- is the same one for both.
wrong_reward as (
    select
        dialogues.dialogue_key,
        dialogues.dialogue_key as row_key,
        'the reward is ' || cast(dialogues.outcome_reward as string) || '; agents whose last selection is '
            || case when outcomes.finder_count = 2 and not outcomes.is_found then 'a' else 'the' end
            || ' shared friend: ' || cast(coalesce(outcomes.finder_count, 0) as string) as detail
    from {{ ref('dim_dialogues') }} as dialogues
    left join outcomes
        on dialogues.dialogue_key = outcomes.dialogue_key
    where
        dialogues.corpus_id = 'mutualfriends'
        and dialogues.outcome_reward <> case when outcomes.is_found then 1 else 0 end
),

-- A message without a text, or a selection without a friend: its data is null, or of the other kind of event.
missing_content as (
    select
        turns.dialogue_key,
        turns.turn_index,
        turns.turn_key as row_key,
        turns.source_event_type || ' without a '
            || case turns.event_type when 'utterance' then 'text' else 'friend' end as detail
    from {{ ref('fct_turns') }} as turns
    left join selections
        on turns.turn_key = selections.turn_key
    where
        turns.corpus_id = 'mutualfriends'
        and case turns.event_type
            when 'utterance' then turns.utterance is null
            when 'selection' then selections.action_key is null
        end
),

-- An event has an earlier time than the event before it.
earlier_time as (
    select
        dialogue_key,
        turn_index,
        turn_key as row_key,
        last_turn_key as other_key,
        source_time || ' follows the later time ' || last_time as detail
    from (
        select
            dialogue_key,
            turn_index,
            turn_key,
            source_time,
            occurred_at,
            lag(turn_key) over (partition by dialogue_key order by turn_index) as last_turn_key,
            lag(source_time) over (partition by dialogue_key order by turn_index) as last_time,
            lag(occurred_at) over (partition by dialogue_key order by turn_index) as last_occurred_at
        from {{ ref('fct_turns') }}
        where corpus_id = 'mutualfriends'
    ) as events
    where occurred_at < last_occurred_at
),

names as (
    select
        facts.dialogue_key,
        facts.value as name
    from {{ ref('fct_knowledge_items') }} as facts
    inner join {{ ref('dim_scenario_attributes') }} as attributes
        on
            facts.dialogue_key = attributes.scenario_key
            and facts.attribute = attributes.attribute
    where facts.corpus_id = 'mutualfriends' and attributes.value_type = 'name'
),

words as (
    select
        dialogue_key,
        turn_index,
        turn_key,
        {{ explode_indexed("split(translate(utterance, ',.;:!?', '      '), ' ')", 'word', 'place') }}
    from {{ ref('fct_turns') }}
    where
        corpus_id = 'mutualfriends'
        and event_type = 'utterance'
        and dialogue_key in (select names.dialogue_key from names)
),

-- A message names a person of the corpus that neither of the two people knows. A word is not a person if the friends
-- have no names, or if another attribute of the friends, such as a school, contains the word.
named_stranger as (
    select distinct
        words.dialogue_key,
        words.turn_index,
        words.turn_key as row_key,
        words.word || ' is not on the list of either agent' as detail
    from words
    inner join (select distinct name from names) as people
        on words.word = people.name
    where not exists (
        select 1
        from {{ ref('fct_knowledge_items') }} as facts
        where
            words.dialogue_key = facts.dialogue_key
            and contains(' ' || facts.value || ' ', ' ' || words.word || ' ')
    )
),

-- A participant that is not human; the authors' other runs had bots.
bot_participant as (
    select
        dialogue_key,
        dialogue_key as row_key,
        'agent ' || source_speaker || ' has the type ' || coalesce(participant_type, 'NULL') as detail
    from {{ ref('dim_participants') }}
    where corpus_id = 'mutualfriends' and coalesce(participant_type, '') <> 'human'
)

{{ stack_rules(
    'mutualfriends',
    turns=[
        'selected_stranger',
        'missing_content',
        'earlier_time',
        'named_stranger'
    ],
    dialogues=[
        'shared_friends',
        'unequal_knowledge',
        'repeated_attribute',
        'incomplete_friend',
        'repeated_friend',
        'wrong_reward',
        'bot_participant'
    ],
    others=[
        'earlier_time'
    ],
    slots=[
        'selected_stranger'
    ]
) }}
