"""Write a selection in a form: files for each corpus and split, and the loss ledger; all of them or none."""

from __future__ import annotations

import contextlib
import errno
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from dialogue_warehouse.common import files
from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.errors import InputError, counted, is_full, naming, words_of_full
from dialogue_warehouse.exporting import card, chat, huggingface, losses, preference
from dialogue_warehouse.exporting.chat import ChatOptions
from dialogue_warehouse.exporting.huggingface import HuggingFaceOptions
from dialogue_warehouse.exporting.preference import PreferenceOptions
from dialogue_warehouse.lineage.restoring import open_published_core
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.selection import NO_SPLIT, Dialogue, Selection, select_published
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds

SCRATCH = ".exporting-"
"""Beginning of the name of a temporary folder."""
Write = Callable[
    [duckdb.DuckDBPyConnection, Corpus, Sequence[Dialogue], Path, Any, Callable[[str], None]],
    Mapping[Path, Mapping[str, int]],
]
"""Writes examples of a corpus's dialogues to a file, or to parts of it, and returns the counts of each."""
Describe = Callable[[duckdb.DuckDBPyConnection, Path, Sequence[str], dict[str, Any], Selection], None]
"""Writes a page beside the written files, as `card.write` does."""


@dataclass(frozen=True)
class File:
    """A kind of file of a form; there is one for each corpus and split."""

    path: str
    """Its path, with the corpus and the split to fill in."""
    write: Write
    copy: Callable[[Path], Path] | None = None
    """Returns the path of a file with the same examples, which `write` writes, too."""


@dataclass(frozen=True)
class Form:
    """A form: its files, and what says which values of core are in them."""

    name: str
    files: tuple[File, ...]
    declarations: str = losses.MESSAGES_TOML
    needs: str | None = None
    """The file of a corpus without which the corpus has nothing for this form."""
    describe: Describe | None = None
    """Writes a page about the files."""


FORMS: dict[type, Form] = {
    ChatOptions: Form("chat", (File("{corpus}/{split}.jsonl", chat.write),)),
    HuggingFaceOptions: Form(
        "huggingface",
        (File("{corpus}/{split}.parquet", huggingface.write, copy=huggingface.as_text),),
        describe=card.write,
    ),
    PreferenceOptions: Form(
        "preference",
        (
            File("{corpus}/pairs/{split}.jsonl", preference.write_pairs),
            File("{corpus}/labels/{split}.jsonl", preference.write_labels),
        ),
        losses.PREFERENCES_TOML,
        preference.PREFERENCES_SQL,
    ),
}
"""Each form, by the class of its options."""
OPTIONS: dict[str, type] = {form.name: options for options, form in FORMS.items()}
"""The class of its options, by the name of a form."""


@dataclass(frozen=True)
class Exported:
    """A written file of an export."""

    path: str
    """Its path, relative to the folder of the export."""
    counts: Mapping[str, int]
    """Numbers by name: `dialogues` that were selected, written `examples`, and why others are left out."""
    is_copy: bool = False
    """True if it has the examples of another file, once more."""


def export_published(
    paths: WarehousePaths,
    settings: Settings,
    selection: Selection,
    options: Any,
    folder: Path,
    reporter: Reporter,
    force: bool = False,
) -> list[Exported]:
    """Write the selected dialogues of the published build below a folder, and return what was written.

    The class of `options` says which form is written. Raises InputError, with nothing written, if an existing file
    differs and `force` is off, or if no selected corpus has what the form needs.
    """
    form = FORMS[type(options)]
    exported = []
    with contextlib.ExitStack() as opened:
        dialogues, con = opened.enter_context(_selected(paths, settings, selection))
        _refuse_nothing(form, {dialogue.corpus_id for dialogue in dialogues})
        opened.enter_context(files.folder_made(folder))
        scratch = opened.enter_context(_scratch_in(folder))
        ledger: dict[str, Any] = {"form": form.name, "options": asdict(options), "corpora": {}}
        for corpus_id, of_corpus in groupby(dialogues, key=lambda one: one.corpus_id):
            con.execute(losses.EXPORTED)
            corpus = registry.load_corpus(corpus_id)
            of_files = list(_write_corpus(con, corpus, of_corpus, scratch, form, options, reporter))
            ledger["corpora"][corpus_id] = {
                "files": {one.path: one.counts for one in of_files},
                "tables": losses.count(con, corpus, form.declarations),
            }
            exported += of_files
        content = msgspec.json.format(msgspec.json.encode(ledger), indent=1)
        (scratch / losses.LEDGER).write_bytes(content + b"\n")
        paths_written = [*(one.path for one in exported), losses.LEDGER]
        if form.describe:
            form.describe(con, scratch, [one.path for one in exported if not one.is_copy], ledger, selection)
            paths_written.append(card.CARD)
        others = list(huggingface.other_parts(folder, paths_written))
        if others and not force:
            raise InputError(
                f"{others[0]}: is a part of another export; nothing was written; --force removes such files"
            )
        files.move_all(scratch, folder, paths_written, force, "exported")
        for other in others:
            files.remove(other)
        _name_others(form, folder, paths_written, reporter)
    return exported


@contextlib.contextmanager
def _selected(
    paths: WarehousePaths, settings: Settings, selection: Selection
) -> Generator[tuple[list[Dialogue], duckdb.DuckDBPyConnection]]:
    """Yield the selected dialogues with the core that they are in; again if another build is published meanwhile."""
    while True:
        build_id, _ = builds.published_build(paths)
        dialogues = select_published(paths, settings, selection)
        if selection.keys:  # in their own order, in which a file may have dialogues at several places
            dialogues.sort(key=lambda one: one.place)
        with open_published_core(paths, settings) as (opened_id, con):
            if opened_id == build_id:
                yield dialogues, con
                return


def _name_others(form: Form, folder: Path, written: Iterable[str], reporter: Reporter) -> None:
    """Tell the user of files in the folder that a reader of all its files would take for files of this export."""
    patterns = [file.path.format(corpus="*", split="*") for file in form.files]
    found = {path.relative_to(folder).as_posix() for pattern in patterns for path in folder.glob(pattern)}
    if others := sorted(found - set(written)):
        more = f" and {counted(len(others) - 1, 'more file')}" if others[1:] else ""
        text = f"{folder / others[0]}{more}: not written by this export, and not removed"
        reporter.line(f"notice: {text}", "notice", text=text)


def _has_what_it_needs(form: Form, corpus: Corpus) -> bool:
    return form.needs is None or (corpus.folder / form.needs).is_file()


def _refuse_nothing(form: Form, selected: set[str]) -> None:
    """Raise InputError if no corpus of a selected dialogue has what the form needs."""
    having = [corpus.corpus_id for corpus in registry.load_corpora() if _has_what_it_needs(form, corpus)]
    if not selected & set(having):
        noun = Path(form.needs or "").stem
        raise InputError(f"--form {form.name}: no selected dialogue has {noun}; only {', '.join(having)} has them")


@contextlib.contextmanager
def _scratch_in(folder: Path) -> Generator[Path]:
    """Yield a temporary folder inside the folder of the export, which no other export writes into meanwhile.

    Temporary folders of exports that were killed are removed. An error about a full disk gets the folder's name.
    Raises InputError if another export writes there.
    """
    with files.alone_in(folder) as is_alone:
        if is_alone is False:
            raise InputError(f"{folder}: another export writes there; wait until it has ended, or name another folder")
        for left in folder.glob(f"{SCRATCH}*") if is_alone else ():
            files.remove(left)
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=folder) as scratch, naming(folder):
            try:
                yield files.plain_path(Path(scratch))  # DuckDB writes there
            except duckdb.IOException as error:
                if is_full(error):
                    raise OSError(errno.ENOSPC, words_of_full(error), str(folder)) from error
                raise


def _left_out(counts: Counter[str]) -> str:
    """Say how many examples are left out, and why; "" if there are none."""
    whys = []
    if counts["dialogues_without_message"]:  # as a question for which no agent was selected
        whys.append(f"{counted(counts['dialogues_without_message'], 'dialogue')} without a message for this form")
    if counts["examples_without_answer"]:
        whys.append(f"{counts['examples_without_answer']:,} without an answer")
    if counts["examples_too_long"]:
        whys.append(counted(counts["examples_too_long"], "longer one"))
    return f", {' and '.join(whys)} left out" if whys else ""


def _write_corpus(
    con: duckdb.DuckDBPyConnection,
    corpus: Corpus,
    dialogues: Iterable[Dialogue],
    scratch: Path,
    form: Form,
    options: Any,
    reporter: Reporter,
) -> Iterator[Exported]:
    """Write the files of each split of a corpus; none if the corpus has nothing for the form."""
    if not _has_what_it_needs(form, corpus):
        reporter.line(f"export   {corpus.corpus_id:<15} has no {Path(form.needs or '').stem}")
        return
    for split, group in groupby(dialogues, key=lambda one: one.split):
        of_split = list(group)
        for file in form.files:
            path = file.path.format(corpus=corpus.corpus_id, split=split or NO_SPLIT)
            (scratch / path).parent.mkdir(parents=True, exist_ok=True)
            named = path.removesuffix(".parquet")  # the names of Parquet files have the number of the part
            with reporter.stage("export", named) as stage:
                written = file.write(con, corpus, of_split, scratch / path, options, stage.update)
                counts: Counter[str] = Counter()
                for of_part in written.values():
                    counts.update(of_part)
                stage.detail, stage.counts = counted(counts["examples"], "example") + _left_out(counts), dict(counts)
            for part, of_part in written.items():
                yield Exported(part.relative_to(scratch).as_posix(), of_part)
                if file.copy:
                    copy = file.copy(part).relative_to(scratch).as_posix()
                    yield Exported(copy, {"examples": of_part["examples"]}, is_copy=True)
