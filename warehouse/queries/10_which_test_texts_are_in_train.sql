-- How much of the users' text in the test split also occurs in train, and how much of that with another label?
-- One row per corpus_id.
--
-- Columns
--   corpus_id: corpus
--   train_texts, test_texts: texts of users, or of the two peers, in the two splits, and classifier examples that are
--     not questions of their split; texts without a letter or a digit are left out
--   verbatim_percent: share of test_texts that occur in train character by character, two decimals
--   seen_texts: test texts that occur in train, ignoring case, blanks and punctuation (core.same_text)
--   seen_percent: their share of test_texts, two decimals
--   long_seen_percent: the same for the test texts with at least five words (four blanks), where chance is unlikely;
--     two decimals; NULL if there are none
--   seen_dialogues: test dialogues that occur in train as a whole, utterance by utterance, compared in the same way
--   labeled_seen: labels of test texts that train has with a label of the same kind
--   other_label: of labeled_seen, those that no equal text in train has: the labels of one text contradict each other
--
-- Reads: core.fct_turns, core.fct_classifier_examples, analytics.split_leakage
-- Expect: the label is the intent of an ABCD turn or a BBAI question, and the accepted agents of a classifier example,
--   a second kind; the others label no utterance as a whole. "Yes" in two dialogues is not a leak: read
--   long_seen_percent and seen_dialogues. If a text is a whole question, as in BBAI, seen_texts and seen_dialogues are
--   the same. A corpus whose test split is not in the build has no row; one without its train split has 0 train_texts
--   and no seen texts.
-- Source: BBAI's splits share no question character by character; ignoring case, blanks and punctuation, 33 of the
--   1,850 questions of test.json occur in train_classifier.json.
with

texts as (
    select
        corpus_id,
        split,
        utterance
    from core.fct_turns
    where event_type = 'utterance' and role in ('user', 'peer')
    union all
    select
        corpus_id,
        split,
        utterance
    from core.fct_classifier_examples
    where dialogue_key is null
),

utterances as (
    select
        corpus_id,
        utterance,
        core.same_text(utterance) as text,
        count(*) filter (where split = 'train') as train,
        count(*) filter (where split = 'test') as test
    from texts
    where split in ('train', 'test')
    group by corpus_id, utterance
),

matched as (
    select
        *,
        trim(utterance) like '% % % % %' as is_long,
        sum(train) over (partition by corpus_id, text) > 0 as is_seen
    from utterances
    where text <> ''
),

text_totals as (
    select
        corpus_id,
        sum(train) as train_texts,
        sum(test) as test_texts,
        coalesce(sum(test) filter (where train > 0), 0) as verbatim,
        coalesce(sum(test) filter (where is_seen), 0) as seen,
        sum(test) filter (where is_long) as long,
        coalesce(sum(test) filter (where is_long and is_seen), 0) as long_seen
    from matched
    group by corpus_id
    having sum(test) > 0
),

labels as (
    select
        corpus_id,
        'intent' as kind,
        split,
        utterance,
        intent as label
    from core.fct_turns
    where event_type = 'utterance' and role in ('user', 'peer')
    union all
    select
        corpus_id,
        'agents' as kind,
        split,
        utterance,
        array_to_string(list_sort(labels), ' ') as label
    from core.fct_classifier_examples
),

labeled as (
    select
        corpus_id,
        kind,
        core.same_text(utterance) as text,
        label,
        count(*) filter (where split = 'train') as train,
        count(*) filter (where split = 'test') as test
    from labels
    where split in ('train', 'test') and label is not null
    group by corpus_id, kind, text, label
),

label_matches as (
    select
        corpus_id,
        train,
        test,
        sum(train) over (partition by corpus_id, kind, text) > 0 as is_seen
    from labeled
    where text <> ''
),

label_totals as (
    select
        corpus_id,
        sum(test) as seen,
        sum(test) filter (where train = 0) as other_label
    from label_matches
    where is_seen
    group by corpus_id
)

select
    text_totals.corpus_id,

    cast(text_totals.train_texts as bigint) as train_texts,
    cast(text_totals.test_texts as bigint) as test_texts,
    round(100.0 * text_totals.verbatim / text_totals.test_texts, 2) as verbatim_percent,
    cast(text_totals.seen as bigint) as seen_texts,
    round(100.0 * text_totals.seen / text_totals.test_texts, 2) as seen_percent,
    round(100.0 * text_totals.long_seen / text_totals.long, 2) as long_seen_percent,
    coalesce(leakage.other_leaked_count, 0) as seen_dialogues,
    cast(coalesce(label_totals.seen, 0) as bigint) as labeled_seen,
    cast(coalesce(label_totals.other_label, 0) as bigint) as other_label
from text_totals
left join label_totals
    on text_totals.corpus_id = label_totals.corpus_id
left join analytics.split_leakage as leakage
    on
        text_totals.corpus_id = leakage.corpus_id
        and leakage.split = 'train'
        and leakage.other_split = 'test'
order by text_totals.corpus_id
