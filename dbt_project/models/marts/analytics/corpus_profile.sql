{%- set kinds = [
    'domain', 'service', 'intent', 'act', 'distinct_slot', 'distinct_state_slot', 'distinct_value',
    'distinct_span_value', 'distinct_state_value',
] -%}
with

sizes as (
    select
        corpus_id,
        split,
        grouping(split) = 1 as is_whole_corpus,
        count(*) as dialogues,
        sum(turn_count) as turns,
        sum(utterance_count) as utterances
    from {{ ref('dim_dialogues') }}
    group by grouping sets ((corpus_id, split), (corpus_id))
),

spaced_pieces as (
    select
        corpus_id,
        split,
        {{ explode_split(lower_case('utterance'), "' '", 'piece') }}
    from {{ ref('fct_turns') }}
    where event_type = 'utterance'
),

piece_counts as (
    select
        corpus_id,
        split,
        piece,
        count(*) as times
    from spaced_pieces
    group by corpus_id, split, piece
),

-- Most pieces between spaces are single words. Other white space is searched for only in each distinct piece, which is
-- cheap.
piece_words as (
    select
        corpus_id,
        split,
        times,
        {{ explode_indexed(words('piece'), 'word', 'place') }}
    from piece_counts
),

words as (
    select
        corpus_id,
        split,
        grouping(split) = 1 as is_whole_corpus,
        sum(times) as times
    from piece_words
    group by grouping sets ((corpus_id, split, word), (corpus_id, word))
),

vocabularies as (
    select
        corpus_id,
        split,
        is_whole_corpus,
        sum(times) as tokens,
        count(*) as words,
        count(*) filter (where times = 1) as words_said_once
    from words
    group by corpus_id, split, is_whole_corpus
),

annotated_values as (
    select
        corpus_id,
        split,
        annotation_type,
        {{ lower_case('value') }} as value
    from {{ ref('fct_slots') }}
    where value is not null
    group by corpus_id, split, annotation_type, {{ lower_case('value') }}
),

requested_slots as (
    select
        corpus_id,
        split,
        service,
        {{ explode_indexed('requested_slots', 'slot_name', 'place') }}
    from (select distinct corpus_id, split, service, requested_slots from {{ ref('fct_frames') }}) as requests
),

split_names as (
    select
        corpus_id,
        split,
        case when label_kind in ('domain', 'service', 'intent') then label_kind else 'act' end as kind,
        label as name
    from {{ ref('label_distribution') }}
    where label_kind <> 'next_step'
    union all
    -- The slots of acts and calls are left out: an act can also be about an intent, or about a number of results.
    select
        corpus_id,
        split,
        'distinct_slot' as kind,
        coalesce(service, '') || '/' || slot_name as name
    from {{ ref('slot_profile') }}
    where annotation_type not in ('action_value', 'call_parameter') and slot_name is not null
    union all
    select
        corpus_id,
        split,
        'distinct_slot' as kind,
        coalesce(service, '') || '/' || slot_name as name
    from requested_slots
    union all
    select
        corpus_id,
        split,
        'distinct_state_slot' as kind,
        coalesce(service, '') || '/' || slot_name as name
    from {{ ref('slot_profile') }}
    where annotation_type = 'state'
    union all
    select
        corpus_id,
        split,
        'distinct_value' as kind,
        value as name
    from annotated_values
    union all
    select
        corpus_id,
        split,
        'distinct_' || annotation_type || '_value' as kind,
        value as name
    from annotated_values
    where annotation_type in ('span', 'state')
),

names as (
    select
        corpus_id,
        split,
        grouping(split) = 1 as is_whole_corpus,
        kind
    from split_names
    group by grouping sets ((corpus_id, split, kind, name), (corpus_id, kind, name))
),

name_counts as (
    select
        corpus_id,
        split,
        is_whole_corpus,
        {%- for kind in kinds %}
        count(*) filter (where kind = '{{ kind }}') as {{ kind }}_count{{ ',' if not loop.last }}
        {%- endfor %}
    from names
    group by corpus_id, split, is_whole_corpus
)

select
    sizes.corpus_id,
    sizes.split,
    sizes.is_whole_corpus,

    cast(sizes.dialogues as integer) as dialogue_count,
    cast(sizes.turns as integer) as turn_count,
    cast(sizes.utterances as integer) as utterance_count,
    cast(coalesce(vocabularies.tokens, 0) as bigint) as token_count,
    sizes.turns / cast(sizes.dialogues as double) as turns_per_dialogue,
    coalesce(vocabularies.tokens, 0) / cast(nullif(sizes.utterances, 0) as double) as tokens_per_utterance,

    cast(coalesce(vocabularies.words, 0) as integer) as vocabulary_count,
    cast(coalesce(vocabularies.words_said_once, 0) as integer) as said_once_count,
    vocabularies.words / cast(vocabularies.tokens as double) as type_token_ratio,

    {%- for kind in kinds %}
    cast(coalesce(name_counts.{{ kind }}_count, 0) as integer) as {{ kind }}_count{{ ',' if not loop.last }}
    {%- endfor %}
from sizes
left join vocabularies
    on
        sizes.corpus_id = vocabularies.corpus_id
        and sizes.is_whole_corpus = vocabularies.is_whole_corpus
        and sizes.split is not distinct from vocabularies.split
left join name_counts
    on
        sizes.corpus_id = name_counts.corpus_id
        and sizes.is_whole_corpus = name_counts.is_whole_corpus
        and sizes.split is not distinct from name_counts.split
