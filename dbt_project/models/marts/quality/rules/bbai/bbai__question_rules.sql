{#- The rule of BBAI about questions that are asked more than once. -#}
with

examples as (
    select
        example_key,
        {{ explode_indexed('labels', 'label', 'position') }}
    from {{ ref('fct_classifier_examples') }}
    where corpus_id = 'bbai' and dialogue_key is null
),

labels as (
    select
        example_key as row_key,
        label
    from examples

    union

    select
        dialogue_key as row_key,
        voted_for as label
    from {{ ref('fct_votes') }}
    where corpus_id = 'bbai' and is_selected
),

gold as (
    select
        texts.row_key,
        texts.dialogue_key,
        texts.text,
        {{ list_join(list_agg_ordered('labels.label', 'labels.label'), "', '") }} as agents
    from {{ ref('shared__repeated_texts') }} as texts
    inner join labels
        on texts.row_key = labels.row_key
    where texts.corpus_id = 'bbai'
    group by texts.row_key, texts.dialogue_key, texts.text
),

-- The same question, apart from case, blanks and punctuation, with other answers chosen.
differing_gold as (
    select
        gold.dialogue_key,
        gold.row_key,
        others.row_key as other_key,
        'the answers of ' || gold.agents || ' are chosen; for the same text, those of ' || others.agents as detail
    from gold
    inner join gold as others
        on gold.text = others.text
    where gold.row_key > others.row_key and gold.agents <> others.agents
)

{{ stack_rules('bbai', dialogues=['differing_gold'], others=['differing_gold']) }}
