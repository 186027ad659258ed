{{ config(post_hook='{{ create_text_macro() }}') }}

with

texts as (
    select
        corpus_id,
        coalesce(split, '') as split,
        text,
        count(*) as dialogues
    from {{ ref('shared__repeated_texts') }}
    group by corpus_id, coalesce(split, ''), text
),

sizes as (
    select
        corpus_id,
        split,
        count(*) as dialogues
    from (
        select
            corpus_id,
            coalesce(split, '') as split
        from {{ ref('dim_dialogues') }}
        union all
        select
            corpus_id,
            coalesce(split, '') as split
        from {{ ref('fct_classifier_examples') }}
        where dialogue_key is null
    ) as dialogues_and_examples
    group by corpus_id, split
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
        firsts.split,
        seconds.split as other_split,
        firsts.dialogues,
        seconds.dialogues as other_dialogues
    from ordered_splits as firsts
    inner join ordered_splits as seconds
        on
            firsts.corpus_id = seconds.corpus_id
            and firsts.place <= seconds.place
),

shared as (
    select
        firsts.corpus_id,
        firsts.split,
        seconds.split as other_split,
        count(*) as texts,
        sum(firsts.dialogues) as dialogues,
        sum(seconds.dialogues) as other_dialogues
    from texts as firsts
    inner join texts as seconds
        on
            firsts.corpus_id = seconds.corpus_id
            and firsts.text = seconds.text
    where firsts.split <> seconds.split or firsts.dialogues > 1
    group by firsts.corpus_id, firsts.split, seconds.split
)

select
    pairs.corpus_id,
    corpora.text_kind,
    nullif(pairs.split, '') as split,
    nullif(pairs.other_split, '') as other_split,

    cast(pairs.dialogues as integer) as dialogue_count,
    cast(pairs.other_dialogues as integer) as other_dialogue_count,
    cast(coalesce(shared.texts, 0) as integer) as shared_text_count,
    cast(coalesce(shared.dialogues, 0) as integer) as leaked_count,
    cast(coalesce(shared.other_dialogues, 0) as integer) as other_leaked_count,
    cast(coalesce(shared.other_dialogues, 0) as double) / pairs.other_dialogues as leaked_share
from pairs
inner join {{ ref('dim_corpora') }} as corpora
    on pairs.corpus_id = corpora.corpus_id
left join shared
    on
        pairs.corpus_id = shared.corpus_id
        and pairs.split = shared.split
        and pairs.other_split = shared.other_split
