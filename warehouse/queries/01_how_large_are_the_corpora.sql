-- How large is each split of each corpus, how long are its dialogues, and who uses more words?
-- One row per corpus_id and split.
--
-- Columns
--   corpus_id: corpus
--   split: train, validation or test; NULL where the publisher gives none (the spoken half of Taskmaster-1)
--   dialogues: dialogues (BBAI: questions)
--   turns: turns, buttons and selections included
--   turns_per_dialogue: mean, three decimals
--   turns_p10, turns_p50, turns_p90: turns of the dialogue that 10, 50, 90 percent of the dialogues do not exceed
--   turns_longest: turns of the longest dialogue
--   utterances: turns that are utterances
--   words: words of these utterances; a word is what stands between spaces, tabs and line ends
--   words_per_utterance: mean, three decimals
--   user_words_per_utterance, system_words_per_utterance: the same for one role; NULL where nobody has it
--
-- Reads: core.dim_dialogues, core.fct_turns
-- Expect: MutualFriends has two peers and no user; a BBAI question is one turn, its nineteen answers are none. A lone
--   split of the build is a lone row: nothing is invented for what was not there.
-- Source: on the complete release SGD's rows are the turns, tokens, turns per dialogue and tokens per turn of the table
--   in the publisher's dstc8.md (all dialogues: 20.441, 19.632 and 20.137 turns; 9.751, 9.664 and 10.403 tokens).
with

utterances as (
    select
        corpus_id,
        split,
        role,
        -- The pattern is exact and slow; only a text with an odd space needs it.
        case
            when
                contains(utterance, '  ') or contains(utterance, chr(9)) or contains(utterance, chr(10))
                or contains(utterance, chr(13)) or starts_with(utterance, ' ') or ends_with(utterance, ' ')
                or utterance = ''
                then length(regexp_extract_all(utterance, '[^ \t\n\r]+'))
            else length(string_split(utterance, ' '))
        end as words
    from core.fct_turns
    where event_type = 'utterance'
),

spoken as (
    select
        corpus_id,
        split,
        count(*) as utterances,
        sum(words) as words,
        avg(words) as words_per_utterance,
        avg(words) filter (where role = 'user') as user_words_per_utterance,
        avg(words) filter (where role = 'system') as system_words_per_utterance
    from utterances
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

    coalesce(spoken.utterances, 0) as utterances,
    cast(coalesce(spoken.words, 0) as bigint) as words,
    round(spoken.words_per_utterance, 3) as words_per_utterance,
    round(spoken.user_words_per_utterance, 3) as user_words_per_utterance,
    round(spoken.system_words_per_utterance, 3) as system_words_per_utterance
from held
left join spoken
    on
        held.corpus_id = spoken.corpus_id
        and held.split is not distinct from spoken.split
order by held.corpus_id, held.split
