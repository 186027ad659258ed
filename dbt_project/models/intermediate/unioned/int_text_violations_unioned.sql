{#- Texts that occur again, compared without comparing each with each: by what is left of them without case, blanks and
    punctuation where a dialogue has one turn, and by the whole text where it has more. -#}
with

dialogues as (
    select
        dialogue_key,
        corpus_id,
        source_file_id,
        record_index,
        turn_count,
        case split when 'train' then 0 when 'validation' then 1 when 'test' then 2 else 3 end as split_order
    from {{ ref('dim_dialogues') }}
),

spoken as (
    select
        dialogue_key,
        count(utterance) as utterance_count,
        sum(length(utterance)) as characters,
        sum((turn_index + 1) * length(utterance)) as weighted_characters
    from {{ ref('fct_turns') }}
    group by dialogue_key
),

conversations as (
    select
        dialogues.dialogue_key,
        dialogues.corpus_id,
        spoken.utterance_count,
        spoken.characters,
        spoken.weighted_characters
    from spoken
    inner join dialogues
        on spoken.dialogue_key = dialogues.dialogue_key
    where dialogues.turn_count > 1 and spoken.characters > 0
),

alike as (
    select
        corpus_id,
        utterance_count,
        characters,
        weighted_characters
    from conversations
    group by corpus_id, utterance_count, characters, weighted_characters
    having count(*) > 1
),

-- Only dialogues that look alike are compared by their whole text.
likely_equal as (
    select conversations.dialogue_key
    from conversations
    inner join alike
        on
            conversations.corpus_id = alike.corpus_id
            and conversations.utterance_count = alike.utterance_count
            and conversations.characters = alike.characters
            and conversations.weighted_characters = alike.weighted_characters
),

{#- Deletes what is no letter or digit, as far as the questions of the corpora have it; `translate`, because a regular
    expression replaces one match on DuckDB and all on Spark. -#}
{%- set marks = "' !#$%&()*+,-./:;<=>?@^_`{|}~’‘“”£' || chr(34) || chr(39) || chr(91) || chr(92) || chr(93)" %}

texts as (
    select
        dialogues.corpus_id,
        'dialogue' as collection,
        dialogues.split_order,
        dialogues.source_file_id,
        dialogues.record_index,
        dialogues.dialogue_key,
        dialogues.dialogue_key as row_key,
        translate(lower(turns.utterance), {{ marks }}, '') as text
    from dialogues
    inner join {{ ref('fct_turns') }} as turns
        on dialogues.dialogue_key = turns.dialogue_key
    where dialogues.turn_count = 1

    union all

    select
        dialogues.corpus_id,
        'dialogue' as collection,
        dialogues.split_order,
        dialogues.source_file_id,
        dialogues.record_index,
        dialogues.dialogue_key,
        dialogues.dialogue_key as row_key,
        whole.text
    from dialogues
    inner join (
        select
            turns.dialogue_key,
            {{ list_join(list_agg_ordered('turns.utterance', 'turns.turn_index'), 'chr(10)') }} as text
        from {{ ref('fct_turns') }} as turns
        inner join likely_equal
            on turns.dialogue_key = likely_equal.dialogue_key
        group by turns.dialogue_key
    ) as whole
        on dialogues.dialogue_key = whole.dialogue_key

    union all

    select
        corpus_id,
        'example' as collection,
        case split when 'train' then 0 when 'validation' then 1 when 'test' then 2 else 3 end as split_order,
        source_file_id,
        record_index,
        cast(null as string) as dialogue_key,
        example_key as row_key,
        translate(lower(utterance), {{ marks }}, '') as text
    from {{ ref('fct_classifier_examples') }}
),

equal_texts as (
    select
        texts.*,
        min(split_order) over (partition by corpus_id, text) as first_split,
        first_value(row_key) over (partition by corpus_id, text order by split_order, row_key) as first_key,
        lag(row_key) over (
            partition by corpus_id, collection, split_order, text order by source_file_id, record_index
        ) as last_key
    from texts
    where text <> ''
),

-- The text of a dialogue or of a classifier example stands in an earlier split too: in train, or test's in validation.
leaked_text as (
    select
        corpus_id,
        dialogue_key,
        row_key,
        'the text of ' || first_key as detail
    from equal_texts
    where first_split < split_order and split_order < 3
),

-- The same inside a split, on every occurrence but the first.
repeated_text as (
    select
        corpus_id,
        dialogue_key,
        row_key,
        'the text of ' || last_key as detail
    from equal_texts
    where last_key is not null
)

{{ stack_rules(dialogues={'leaked_text': none, 'repeated_text': none}) }}
