-- How much of what users say in the test split stands in train, word for word, and there with another label?
-- One row per corpus_id and collection.
--
-- Columns
--   corpus_id: corpus
--   collection: turns (what users, or the two peers, say) or classifier_examples (BBAI's second form of its questions)
--   train_texts, test_texts: utterances of the two splits that are not empty
--   verbatim_percent: share of test_texts that stand in train character by character, two decimals
--   seen_percent: share that stand in train but for case, outer spaces and closing . ! ? and comma, two decimals
--   long_seen_percent: the same of the test texts with five words or more (four spaces), where chance is a poor excuse;
--     two decimals; NULL where there are none
--   labelled_seen: seen test texts with a label, of which train has a labelled equal
--   other_label: of labelled_seen, those whose label no equal in train has: two truths for one text
--
-- Reads: core.fct_turns, core.fct_classifier_examples
-- Expect: the label is the intent of an ABCD turn or a BBAI question, and the accepted agents of a classifier example;
--   the others label no utterance as a whole. "Yes" in two dialogues is no leak: read long_seen_percent. A corpus
--   whose test split is not in the build has no row; one without its train split has 0 train_texts and nothing seen.
-- Source: BBAI's splits share no question character by character; but for case and closing punctuation 25 of the 1,186
--   questions of test_classifier.json stand in train_classifier.json, 13 of them with other agents.
with

texts as (
    select
        corpus_id,
        'turns' as collection,
        split,
        utterance,
        intent as label
    from core.fct_turns
    where event_type = 'utterance' and role in ('user', 'peer')
    union all
    select
        corpus_id,
        'classifier_examples' as collection,
        split,
        utterance,
        array_to_string(list_sort(labels), ' ') as label
    from core.fct_classifier_examples
),

utterances as (
    select
        corpus_id,
        collection,
        utterance,
        rtrim(lower(trim(utterance)), '.!?, ') as text,
        count(*) filter (where split = 'train') as train,
        count(*) filter (where split = 'test') as test
    from texts
    where split in ('train', 'test') and utterance <> ''
    group by corpus_id, collection, utterance
),

matched as (
    select
        corpus_id,
        collection,
        text like '% % % % %' as is_long,
        sum(train) as train,
        sum(test) as test,
        sum(test) filter (where train > 0) as test_verbatim
    from utterances
    group by corpus_id, collection, text
),

labels as (
    select
        corpus_id,
        collection,
        rtrim(lower(trim(utterance)), '.!?, ') as text,
        label,
        count(*) filter (where split = 'train') as train,
        count(*) filter (where split = 'test') as test
    from texts
    where split in ('train', 'test') and utterance <> '' and label is not null
    group by corpus_id, collection, text, label
),

labelled as (
    select
        corpus_id,
        collection,
        sum(train) as train,
        sum(test) as test,
        sum(test) filter (where train = 0) as test_other_label
    from labels
    group by corpus_id, collection, text
    having sum(train) > 0
),

label_totals as (
    select
        corpus_id,
        collection,
        sum(test) as seen,
        sum(test_other_label) as other_label
    from labelled
    group by corpus_id, collection
),

text_totals as (
    select
        corpus_id,
        collection,
        sum(train) as train_texts,
        sum(test) as test_texts,
        sum(test_verbatim) as verbatim,
        sum(test) filter (where train > 0) as seen,
        sum(test) filter (where is_long) as long,
        sum(test) filter (where is_long and train > 0) as long_seen
    from matched
    group by corpus_id, collection
    having sum(test) > 0
)

select
    text_totals.corpus_id,
    text_totals.collection,

    cast(text_totals.train_texts as bigint) as train_texts,
    cast(text_totals.test_texts as bigint) as test_texts,
    round(100.0 * coalesce(text_totals.verbatim, 0) / text_totals.test_texts, 2) as verbatim_percent,
    round(100.0 * coalesce(text_totals.seen, 0) / text_totals.test_texts, 2) as seen_percent,
    round(100.0 * coalesce(text_totals.long_seen, 0) / nullif(text_totals.long, 0), 2) as long_seen_percent,
    cast(coalesce(label_totals.seen, 0) as bigint) as labelled_seen,
    cast(coalesce(label_totals.other_label, 0) as bigint) as other_label
from text_totals
left join label_totals
    on
        text_totals.corpus_id = label_totals.corpus_id
        and text_totals.collection = label_totals.collection
order by text_totals.corpus_id, text_totals.collection
