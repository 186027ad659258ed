{#- Equal texts without comparing pairs: dialogues that cannot be equal are told apart by cheap sums over their
    utterances that case, spaces and punctuation leave as they are; only the rest is normalised and grouped. -#}
{%- set letters_and_digits = "'[' || chr(92) || 'p{L}' || chr(92) || 'p{N}]+'" -%}
{%- set normal_text = list_join("regexp_extract_all(lower(turns.utterance), " ~ letters_and_digits ~ ", 0)", "''") -%}
with

voted_corpora as (
    select distinct corpus_id
    from {{ ref('fct_votes') }}
),

counted as (
    select
        dialogue_key,
        corpus_id,
        length(utterance) - length(replace(replace(utterance, 'e', ''), 'E', '')) as letters
    from {{ ref('fct_turns') }}
    where event_type = 'utterance' and corpus_id not in (select corpus_id from voted_corpora)
),

fingerprints as (
    select
        dialogue_key,
        corpus_id,
        count(*) as utterances,
        sum(letters) as letters,
        sum(letters * letters) as squares,
        sum(letters * letters * letters) as cubes
    from counted
    group by dialogue_key, corpus_id
),

suspects as (
    select
        dialogue_key,
        count(*) over (partition by corpus_id, utterances, letters, squares, cubes) as dialogues
    from fingerprints
),

dialogue_texts as (
    select
        turns.corpus_id,
        turns.split,
        {{ list_join(list_agg_ordered(normal_text, 'turns.turn_index'), 'chr(10)') }} as normal_text
    from {{ ref('fct_turns') }} as turns
    inner join suspects
        on turns.dialogue_key = suspects.dialogue_key
    where turns.event_type = 'utterance' and suspects.dialogues > 1
    group by turns.dialogue_key, turns.corpus_id, turns.split
),

questions as (
    select
        turns.corpus_id,
        turns.split,
        turns.utterance
    from {{ ref('fct_turns') }} as turns
    inner join voted_corpora
        on turns.corpus_id = voted_corpora.corpus_id
    where turns.event_type = 'utterance'
    union all
    select
        corpus_id,
        split,
        utterance
    from {{ ref('fct_classifier_examples') }}
    where dialogue_key is null
),

texts as (
    select
        corpus_id,
        'dialogue' as text_kind,
        coalesce(split, '') as split,
        normal_text,
        count(*) as dialogues
    from dialogue_texts
    where replace(normal_text, chr(10), '') <> ''
    group by corpus_id, coalesce(split, ''), normal_text
    union all
    select
        corpus_id,
        'question' as text_kind,
        coalesce(split, '') as split,
        normal_text,
        count(*) as dialogues
    from (
        select
            turns.corpus_id,
            turns.split,
            {{ normal_text }} as normal_text
        from questions as turns
    ) as normalised_questions
    where normal_text <> ''
    group by corpus_id, coalesce(split, ''), normal_text
),

sizes as (
    select
        corpus_id,
        'dialogue' as text_kind,
        coalesce(split, '') as split,
        count(*) as dialogues
    from {{ ref('dim_dialogues') }}
    where corpus_id not in (select corpus_id from voted_corpora)
    group by corpus_id, coalesce(split, '')
    union all
    select
        corpus_id,
        'question' as text_kind,
        coalesce(split, '') as split,
        count(*) as dialogues
    from questions
    group by corpus_id, coalesce(split, '')
),

ordered_splits as (
    select
        *,
        case split when 'train' then 0 when 'validation' then 1 when 'test' then 2 else 3 end as place
    from sizes
),

pairs as (
    select
        firsts.corpus_id,
        firsts.text_kind,
        firsts.split,
        seconds.split as other_split,
        firsts.dialogues,
        seconds.dialogues as other_dialogues
    from ordered_splits as firsts
    inner join ordered_splits as seconds
        on
            firsts.corpus_id = seconds.corpus_id
            and firsts.text_kind = seconds.text_kind
            and firsts.place <= seconds.place
),

shared as (
    select
        firsts.corpus_id,
        firsts.text_kind,
        firsts.split,
        seconds.split as other_split,
        count(*) as texts,
        sum(firsts.dialogues) as dialogues,
        sum(seconds.dialogues) as other_dialogues
    from texts as firsts
    inner join texts as seconds
        on
            firsts.corpus_id = seconds.corpus_id
            and firsts.text_kind = seconds.text_kind
            and firsts.normal_text = seconds.normal_text
    where firsts.split <> seconds.split or firsts.dialogues > 1
    group by firsts.corpus_id, firsts.text_kind, firsts.split, seconds.split
)

select
    pairs.corpus_id,
    pairs.text_kind,
    nullif(pairs.split, '') as split,
    nullif(pairs.other_split, '') as other_split,

    cast(pairs.dialogues as integer) as dialogue_count,
    cast(pairs.other_dialogues as integer) as other_dialogue_count,
    cast(coalesce(shared.texts, 0) as integer) as shared_text_count,
    cast(coalesce(shared.dialogues, 0) as integer) as leaked_count,
    cast(coalesce(shared.other_dialogues, 0) as integer) as other_leaked_count,
    case
        when pairs.dialogues <= pairs.other_dialogues
            then cast(coalesce(shared.dialogues, 0) as double) / pairs.dialogues
        else cast(coalesce(shared.other_dialogues, 0) as double) / pairs.other_dialogues
    end as leaked_share
from pairs
left join shared
    on
        pairs.corpus_id = shared.corpus_id
        and pairs.text_kind = shared.text_kind
        and pairs.split = shared.split
        and pairs.other_split = shared.other_split
