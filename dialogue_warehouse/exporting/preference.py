"""Answers that people preferred, as JSON Lines: pairs of a chosen and a rejected answer, and answers with a label.

`preferences.sql` of a corpus says what was asked and answered. A corpus without this file has no preferences. Parts:

- prompts: dialogue_key, turn_index (the order), turn_key, role (`system`, `user` or `assistant`), content.
- answers: dialogue_key, answer (its name, unique in the dialogue), answer_key (the key of its row in core), content,
  votes, is_chosen. An option without an answer, such as "none of these", has the content NULL.

`batch` has the keys of the requested dialogues. A blank answer, and an option without one, is in no example. A pair is
a chosen answer and one with fewer votes and another text; two answers with the same number of votes are a tie, not a
pair. Each answer is also an example alone, with the label true if it is chosen.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from dialogue_warehouse.common.database import literal
from dialogue_warehouse.corpora.registry import CorpusError
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.corpora.sections import file_of, read_sections
from dialogue_warehouse.lineage.restoring import wrong_query
from dialogue_warehouse.reading.findings import read_rows
from dialogue_warehouse.reading.selection import Dialogue

PREFERENCES_SQL = "preferences.sql"
PARTS = ("prompts", "answers")
BATCH_DIALOGUES = 10_000
"""Dialogues that are written at once, which bounds the memory."""


@dataclass(frozen=True)
class PreferenceOptions:
    """The variants of the form."""

    max_characters: int | None = None
    """Characters of an example (its messages as JSON) above which it is left out."""


def _write(
    kind: str,
    con: duckdb.DuckDBPyConnection,
    corpus: Corpus,
    dialogues: Sequence[Dialogue],
    path: Path,
    options: PreferenceOptions,
    update: Callable[[str], None],
) -> dict[Path, dict[str, int]]:
    """Write the examples of a kind of a corpus's dialogues to a file, in their order, and return its path with counts.

    `con` has core as its default schema, and the table `exported` of the loss ledger, to which the parts of examples
    are added. Raises CorpusError if the SQL of the corpus is wrong.
    """
    place = f"{corpus.corpus_id}/{PREFERENCES_SQL}"
    queries = read_sections(file_of(corpus, PREFERENCES_SQL), "part")
    if lacking := [part for part in PARTS if part not in queries]:
        raise CorpusError(f"{place}: no query for {lacking[0]}")
    counts: dict[str, int] = {"dialogues": len(dialogues)}
    part = path.with_suffix(".part")
    with path.open("wb") as whole:
        for start in range(0, len(dialogues), BATCH_DIALOGUES):
            batch = dialogues[start : start + BATCH_DIALOGUES]
            con.execute(
                "create or replace temp table batch as select unnest(?::varchar[]) as dialogue_key",
                [[dialogue.key for dialogue in batch]],
            )
            try:
                con.execute(f"create or replace temp table prompts as {_PROMPTS.format(query=queries['prompts'])}")
                con.execute(f"create or replace temp table answers as {_ANSWERS.format(query=queries['answers'])}")
            except (duckdb.ProgrammingError, duckdb.DataError) as error:
                raise wrong_query(place, error) from error
            for name, number in _write_batch(con, kind, part, options).items():
                counts[name] = counts.get(name, 0) + number
            with part.open("rb") as written:
                shutil.copyfileobj(written, whole)
            part.unlink()
            update(f"{start + len(batch):,} of {len(dialogues):,} dialogues")
    return {path: counts}


write_pairs = functools.partial(_write, "pairs")
write_labels = functools.partial(_write, "labels")


def _write_batch(con: duckdb.DuckDBPyConnection, kind: str, part: Path, options: PreferenceOptions) -> dict[str, int]:
    """Write the examples of a kind of the batch, and return counts."""
    con.execute(f"create or replace temp table examples as {_EXAMPLES[kind]}")
    fits = "true" if options.max_characters is None else f"characters <= {options.max_characters}"
    con.execute(
        f"copy (select {_COLUMNS[kind]} from examples where {fits} order by dialogue_key, names)"
        f" to {literal(part)} (format json)"
    )
    con.execute(_PARTS.format(fits=fits))
    [counts] = read_rows(con, f"{_COUNTS.format(fits=fits)}{_PAIR_COUNTS if kind == 'pairs' else ''}")
    return counts


_PROMPTS = """
    select
        dialogue_key,
        to_json(list(json_object('role', role, 'content', content) order by turn_index)) as prompt,
        list([turn_key] order by turn_index) as turn_keys
    from ({query})
    where content is not null
    group by dialogue_key
"""

_ANSWERS = """
    select
        dialogue_key, answer, answer_key, content, votes, is_chosen,
        coalesce(trim(translate(content, chr(9) || chr(10) || chr(13), '   ')), '') = '' as is_blank,
        json_array(json_object('role', 'assistant', 'content', content)) as messages,
        json_object('key', answer_key, 'votes', votes) as place
    from ({query})
"""

_SOURCE = """'corpus_id', dialogues.corpus_id, 'split', dialogues.split, 'dialogue_key', dialogues.dialogue_key,
            'turn_keys', prompts.turn_keys"""

_EXAMPLES = {
    "pairs": f"""
    select
        chosen.dialogue_key,
        [chosen.answer, rejected.answer] as names,
        concat(chosen.dialogue_key, '/chosen/', chosen.answer, '/rejected/', rejected.answer) as id,
        prompts.prompt,
        chosen.messages as chosen,
        rejected.messages as rejected,
        json_object(
            {_SOURCE},
            'chosen', chosen.place, 'rejected', rejected.place
        ) as source,
        length(concat(prompts.prompt, chosen.messages, rejected.messages)) as characters
    from answers as chosen
    inner join answers as rejected
        on
            chosen.dialogue_key = rejected.dialogue_key
            and chosen.votes > rejected.votes
            and chosen.content <> rejected.content
    inner join prompts on chosen.dialogue_key = prompts.dialogue_key
    inner join dim_dialogues as dialogues on chosen.dialogue_key = dialogues.dialogue_key
    where chosen.is_chosen and not chosen.is_blank and not rejected.is_blank
    """,
    "labels": f"""
    select
        answers.dialogue_key,
        [answers.answer] as names,
        concat(answers.dialogue_key, '/answer/', answers.answer) as id,
        prompts.prompt,
        answers.messages as completion,
        answers.is_chosen as label,
        json_object(
            {_SOURCE},
            'answer', answers.place
        ) as source,
        length(concat(prompts.prompt, answers.messages)) as characters
    from answers
    inner join prompts on answers.dialogue_key = prompts.dialogue_key
    inner join dim_dialogues as dialogues on answers.dialogue_key = dialogues.dialogue_key
    where not answers.is_blank
    """,
}
_COLUMNS = {"pairs": "id, prompt, chosen, rejected, source", "labels": "id, prompt, completion, label, source"}

_PARTS = """
    insert into exported
    with
    written as (select dialogue_key, unnest(names) as answer from examples where {fits}),

    parts as (
        select dialogue_key, answer as variant, null as turn_key, 'answer' as part from written
        union all
        select dialogue_key, null, null, 'example' from written
        union all
        select prompts.dialogue_key, null, unnest(flatten(prompts.turn_keys)), 'text'
        from prompts
        semi join written on prompts.dialogue_key = written.dialogue_key
    )

    select distinct dialogue_key, variant, turn_key, part, false as is_merged
    from parts
"""
"""Adds the parts of the written examples to `exported`, for the loss ledger."""

_COUNTS = """
    select
        (select count(distinct dialogue_key) from examples where {fits}) as exported_dialogues,
        (select count(*) from examples where {fits}) as examples,
        (select count(*) from examples where not {fits}) as examples_too_long,
        (select count(*) from answers where is_chosen and content is null) as chosen_without_answer,
        (select count(*) from answers where is_blank and content is not null) as blank_answers
"""

_PAIR_COUNTS = """,
        count(*) filter (where is_counted and chosen.content = other.content) as pairs_with_one_text,
        count(*) filter (
            where is_counted and chosen.content <> other.content and chosen.votes = other.votes
        ) as ties,
        count(*) filter (
            where not other.is_chosen and chosen.content <> other.content and chosen.votes < other.votes
        ) as chosen_with_fewer_votes
    from answers as chosen
    inner join answers as other
        on chosen.dialogue_key = other.dialogue_key and chosen.answer <> other.answer
    cross join lateral (select not other.is_chosen or chosen.answer < other.answer as is_counted)
    where chosen.is_chosen and not chosen.is_blank and not other.is_blank
"""
"""Counts what does not make a pair; two chosen answers are counted once."""
