{%- set dialogues = source('raw_mutualfriends', 'mutualfriends__dialogues') -%}
{%- set items = list_flatten('scenario.kbs') -%}
{%- set events = ref('stg_mutualfriends__events') -%}

{{ account('mutualfriends', [
    counted('dialogues', '1', dialogues, ref('stg_mutualfriends__dialogues'), ref('int_mutualfriends__dialogues'),
            record_entity='dialogues', core='dim_dialogues'),
    counted('participants', 'cardinality(map_keys(agents))', dialogues, ref('stg_mutualfriends__participants'),
            ref('int_mutualfriends__participants'), core='dim_participants'),
    counted('turns', 'cardinality(events)', dialogues, events, ref('int_mutualfriends__turns'), core='fct_turns'),
    counted('actions', count_where('events', 'event', 'event.data.entries is not null'), dialogues, events,
            ref('int_mutualfriends__actions'), staged_where='selected_item is not null', core='fct_actions'),
    counted('selected_values',
            count_within(list_map('events', 'event', 'map_keys(event.data.entries)')), dialogues,
            ref('stg_mutualfriends__selected_values'), ref('int_mutualfriends__slots'),
            core='fct_slots', core_where="annotation_type = 'selection'"),
    counted('knowledge_items', count_within(list_map(items, 'item', 'map_keys(item)')), dialogues,
            ref('stg_mutualfriends__item_values'), ref('int_mutualfriends__knowledge_items'),
            core='fct_knowledge_items'),
    counted('scenario_attributes', 'cardinality(scenario.attributes)', dialogues,
            ref('stg_mutualfriends__attributes'), ref('int_mutualfriends__scenario_attributes'),
            conformed_where='attribute is not null',
            core='dim_scenario_attributes', core_where='attribute is not null'),
    counted('scenario_alphas', 'cardinality(scenario.alphas)', dialogues, ref('stg_mutualfriends__alphas'),
            ref('int_mutualfriends__scenario_attributes'), conformed_where='alpha is not null',
            core='dim_scenario_attributes', core_where='alpha is not null'),
    counted('dialogue_services', '1', dialogues, ref('stg_mutualfriends__dialogues'),
            ref('int_mutualfriends__dialogue_services'), core='dim_dialogue_services'),
    counted('scenarios', '1', dialogues, ref('stg_mutualfriends__dialogues'), ref('int_mutualfriends__scenarios'),
            core='dim_scenarios')
]) }}
