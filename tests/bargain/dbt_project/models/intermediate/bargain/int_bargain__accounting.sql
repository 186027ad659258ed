{%- set deals = source('raw_bargain', 'bargain__deals') -%}
{%- set items = list_flatten(list_map('people', 'person', 'person.items')) -%}
{%- set events = ref('stg_bargain__events') -%}

{{ account('bargain', [
    counted('dialogues', '1', deals, ref('stg_bargain__deals'), ref('int_bargain__dialogues'), record_entity='deals',
            core='dim_dialogues'),
    counted('dialogue_services', '1', deals, ref('stg_bargain__deals'), ref('int_bargain__dialogue_services'),
            core='dim_dialogue_services'),
    counted('participants', 'cardinality(people)', deals, ref('stg_bargain__people'),
            ref('int_bargain__participants'), core='dim_participants'),
    counted('item_values', '3 * cardinality(' ~ items ~ ')', deals, ref('stg_bargain__item_values'),
            ref('int_bargain__knowledge_items'), core='fct_knowledge_items'),
    counted('turns', 'cardinality(events)', deals, events, ref('int_bargain__turns'), core='fct_turns'),
    counted('actions', count_where('events', 'event', 'event.takes is not null'), deals, events,
            ref('int_bargain__actions'), staged_where='takes is not null', core='fct_actions'),
    counted('taken_items', count_within(list_map('events', 'event', 'map_keys(event.takes)')), deals,
            ref('stg_bargain__taken_items'), ref('int_bargain__slots'),
            core='fct_slots', core_where="annotation_type = 'selection'")
]) }}
