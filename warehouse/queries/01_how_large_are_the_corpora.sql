-- How large is each split of each corpus, how long are its dialogues, and who uses more words?
-- One row per corpus_id and split.
--
-- Columns
--   corpus_id: corpus
--   split: train, validation or test; NULL if the publisher gives none (the spoken half of Taskmaster-1)
--   dialogues: dialogues (BBAI: questions)
--   turns: turns, including buttons and selections
--   turns_per_dialogue: mean, three decimals
--   turns_p10, turns_p50, turns_p90: turns of the dialogue that 10, 50, 90 percent of the dialogues do not exceed
--   turns_longest: turns of the longest dialogue
--   utterances: turns that are utterances
--   words: words of these utterances; words are separated by spaces, tabs and line ends
--   words_per_utterance: mean, three decimals
--   user_words_per_utterance, system_words_per_utterance: the same for one role; NULL if no speaker has it
--
-- Reads: core.dim_dialogues, analytics.length_distribution
-- Expect: MutualFriends has two peers and no user. A BBAI question is one turn; its nineteen answers are not turns. A
--   split that is not in the build has no row.
-- Source: on the complete release SGD's rows are the turns, tokens, turns per dialogue and tokens per turn of the table
--   in the publisher's dstc8.md (all dialogues: 20.441, 19.632 and 20.137 turns; 9.751, 9.664 and 10.403 tokens).
with

spoken as (
    select
        corpus_id,
        split,
        sum(occurrence_count) as utterances,
        sum(length * occurrence_count) as words,
        sum(length * occurrence_count) filter (where role = 'user') as user_words,
        sum(occurrence_count) filter (where role = 'user') as user_utterances,
        sum(length * occurrence_count) filter (where role = 'system') as system_words,
        sum(occurrence_count) filter (where role = 'system') as system_utterances
    from analytics.length_distribution
    where measure = 'tokens_of_utterance'
    group by corpus_id, split
),

held as (
    select
        corpus_id,
        split,
        count(*) as dialogues,
        sum(turn_count) as turns,
        avg(turn_count) as turns_per_dialogue,
        quantile_disc(turn_count, 0.1) as turns_p10,
        quantile_disc(turn_count, 0.5) as turns_p50,
        quantile_disc(turn_count, 0.9) as turns_p90,
        max(turn_count) as turns_longest
    from core.dim_dialogues
    group by corpus_id, split
)

select
    held.corpus_id,
    held.split,

    held.dialogues,
    cast(held.turns as bigint) as turns,
    round(held.turns_per_dialogue, 3) as turns_per_dialogue,
    held.turns_p10,
    held.turns_p50,
    held.turns_p90,
    held.turns_longest,

    cast(coalesce(spoken.utterances, 0) as bigint) as utterances,
    cast(coalesce(spoken.words, 0) as bigint) as words,
    round(spoken.words / spoken.utterances, 3) as words_per_utterance,
    round(spoken.user_words / spoken.user_utterances, 3) as user_words_per_utterance,
    round(spoken.system_words / spoken.system_utterances, 3) as system_words_per_utterance
from held
left join spoken
    on
        held.corpus_id = spoken.corpus_id
        and held.split is not distinct from spoken.split
order by held.corpus_id, held.split
