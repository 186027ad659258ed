{#- Defects of Hotline: one CTE per rule, named after the rule; claims.toml describes each under [[defects]]. -#}
with

-- The README promises an answer to every question.
unanswered_call as (
    select
        dialogue_key,
        dialogue_key as row_key,
        'the last turn is by ' || coalesce(source_speaker, 'NULL') as detail
    from (
        select
            dialogue_key,
            role,
            source_speaker,
            row_number() over (partition by dialogue_key order by turn_index desc) as place_from_the_end
        from {{ ref('fct_turns') }}
        where corpus_id = 'hotline'
    ) as turns
    where place_from_the_end = 1 and role = 'user'
)

{{ stack_rules('hotline', dialogues=['unanswered_call']) }}
