{#- The rules of all corpora about repeated texts: one CTE per rule, named after the rule. -#}
with

texts as (
    select
        *,
        case split when 'train' then 0 when 'validation' then 1 when 'test' then 2 else 3 end as split_order
    from {{ ref('shared__repeated_texts') }}
),

ordered_texts as (
    select
        corpus_id,
        dialogue_key,
        row_key,
        split_order,
        min(split_order) over (partition by corpus_id, text) as first_split,
        first_value(row_key) over (partition by corpus_id, text order by split_order, row_key) as first_key,
        lag(row_key) over (
            partition by corpus_id, split_order, text order by source_file_id, record_index
        ) as last_key
    from texts
),

-- The text of a dialogue or of a classifier example also occurs in an earlier split: in train, or for test in
-- validation.
leaked_text as (
    select
        corpus_id,
        dialogue_key,
        row_key,
        first_key as other_key,
        'same text as ' || first_key as detail
    from ordered_texts
    where first_split < split_order and split_order < 3
),

-- The same inside a split, for each occurrence after the first.
repeated_text as (
    select
        corpus_id,
        dialogue_key,
        row_key,
        last_key as other_key,
        'same text as ' || last_key as detail
    from ordered_texts
    where last_key is not null
)

{{ stack_rules(dialogues=['leaked_text', 'repeated_text'], others=['leaked_text', 'repeated_text']) }}
