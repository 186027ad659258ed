{#- The texts that several dialogues of a corpus share: their utterances are, in order, equal under `same_text`. The
    query avoids comparing pairs: cheap sums over one letter of the utterances separate dialogues that cannot be
    equal, and the sums do not depend on anything that `same_text` ignores. Only the remaining dialogues are
    compared as text. An utterance counts with at most 10,000 letters, whose cube fits in 64 bits. The model is inlined,
    so that the query of `split_leakage` works on the published tables alone. -#}
{{ config(materialized='ephemeral') }}

with

said as (
    select
        dialogue_key as row_key,
        corpus_id,
        turn_index,
        utterance
    from {{ ref('fct_turns') }}
    where event_type = 'utterance'

    union all

    -- An example that is a question of its split is that question; it does not count as another text.
    select
        example_key as row_key,
        corpus_id,
        0 as turn_index,
        utterance
    from {{ ref('fct_classifier_examples') }}
    where dialogue_key is null
),

fingerprints as (
    select
        row_key,
        corpus_id,
        count(letters) as utterances,
        sum(letters) as letters,
        sum(letters * letters) as squares,
        sum(letters * letters * letters) as cubes
    from (
        select
            row_key,
            corpus_id,
            cast(
                least(length(utterance) - length(replace(replace(utterance, 'e', ''), 'E', '')), 10000) as bigint
            ) as letters
        from said
    ) as counted
    group by row_key, corpus_id
),

suspects as (
    select
        row_key,
        count(*) over (partition by corpus_id, utterances, letters, squares, cubes) as dialogues
    from fingerprints
),

texts as (
    select
        said.row_key,
        said.corpus_id,
        {{ list_join(list_agg_ordered(same_text('said.utterance'), 'said.turn_index'), 'chr(10)') }} as text
    from said
    inner join suspects
        on said.row_key = suspects.row_key
    where suspects.dialogues > 1
    group by said.row_key, said.corpus_id
),

counted_texts as (
    select
        *,
        count(*) over (partition by corpus_id, text) as dialogues
    from texts
    where replace(text, chr(10), '') <> ''
),

places as (
    select
        dialogue_key as row_key,
        dialogue_key,
        split,
        source_file_id,
        record_index
    from {{ ref('dim_dialogues') }}

    union all

    select
        example_key as row_key,
        dialogue_key,
        split,
        source_file_id,
        record_index
    from {{ ref('fct_classifier_examples') }}
)

select
    counted_texts.corpus_id,
    counted_texts.row_key,
    places.dialogue_key,
    places.split,
    places.source_file_id,
    places.record_index,
    counted_texts.text
from counted_texts
inner join places
    on counted_texts.row_key = places.row_key
where counted_texts.dialogues > 1
