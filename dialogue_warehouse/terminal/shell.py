"""The interactive shell of `sql`: history, completion of tables, columns and SQL keywords, queries over several lines.

It runs the same queries as `sql`, through the same sandboxed connection: one SELECT or EXPLAIN at a time.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from dialogue_warehouse.common.text import visible_lines
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths, shell_history
from dialogue_warehouse.reading import catalogue, damage
from dialogue_warehouse.reading.connection import Connection, another, closed_when_idle
from dialogue_warehouse.reading.query import is_ended, run_query
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage.builds import CONTRACTS
from dialogue_warehouse.terminal import printing, results

WORDS = tuple(
    re.split(
        r"\s+",
        "select from where group by order having limit offset join left inner on using with as case when then else end "
        "and or not in is null like ilike between distinct count sum avg min max unnest len list_contains all asc desc "
        "union qualify over partition explain describe summarize exists cast filter",
    )
)
"""The SQL keywords that are completed."""
PROMPT, CONTINUED = "sql> ", "...> "
HELP = """a query ends with ; and may have several lines; Tab completes, the arrow keys go through the history
  .tables        list the tables          .schema TABLE  describe a table
  .mode          turn vertical on or off  .quit          leave, like Ctrl-D
The commands of psql work, too: \\d, \\d TABLE, \\x, \\q."""
PSQL = {"\\d": ".tables", "\\dt": ".tables", "\\x": ".mode", "\\q": ".quit", "\\?": ".help", "\\h": ".help"}
"""The commands that psql has another name for."""
BARE = {"exit": ".quit", "quit": ".quit", "help": ".help"}
"""The commands that are known without a dot."""


class Names(Completer):
    """Completes table names with or without schema, column names after a table's name and a dot, and SQL keywords."""

    def __init__(self, con: Connection) -> None:
        rows = con.execute(
            """
            select case database_name when 'raw' then 'raw' else schema_name end, table_name, column_name
            from duckdb_columns()
            where database_name in ('dialogues', 'raw') and not internal and schema_name <> ?
            order by all
            """,
            [CONTRACTS],
        ).fetchall()
        self._columns: dict[str, list[str]] = {}
        for schema, table, column in rows:
            for name in (table, f"{schema}.{table}"):
                self._columns.setdefault(name.lower(), []).append(column)
        self._tables = sorted({table for _, table, _ in rows} | {f"{schema}.{table}" for schema, table, _ in rows})

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield the completions of the word before the cursor."""
        typed = re.search(r"[\w.]*$", document.text_before_cursor)
        word = typed[0].lower() if typed else ""
        table, dot, beginning = word.rpartition(".")
        if dot and (columns := self._columns.get(self._meant(table, document.text))):
            yield from _completions(beginning, columns)
        if word:
            used = {self._meant(name, document.text) for name in re.findall(r"[\w.]+", document.text.lower())}
            named = (column for name in used for column in self._columns.get(name, []))
            yield from _completions(word, dict.fromkeys((*named, *self._tables, *WORDS)))

    def _meant(self, name: str, text: str) -> str:
        """Return the table that a name refers to in this query: itself, or the table of an alias."""
        if name in self._columns or not name:
            return name
        before = re.findall(rf"([\w.]+)\s+(?:as\s+)?{re.escape(name)}\b", text.lower())
        return next((table for table in before if table in self._columns), name)


def _completions(beginning: str, names: Iterable[str]) -> Iterator[Completion]:
    for name in names:
        if name.lower().startswith(beginning) and name.lower() != beginning:
            yield Completion(name, start_position=-len(beginning))


class Shell:
    """A session on one connection; `form` is the output format."""

    def __init__(
        self, con: Connection, settings: Settings, form: str | None = None, pager: printing.Pager | None = None
    ) -> None:
        self.con, self.settings, self.form, self.pager = con, settings, form, pager

    def answer(self, text: str) -> bool:
        """Execute the input; return False if it was to leave. An error is one line, and the shell continues."""
        command, argument = _command(text)
        if command == ".quit":
            return False
        try:
            self._run(command, argument, text.strip())
        except InputError as error:
            cause = damage.cause_of(error, WarehousePaths(self.settings.warehouse)) or error
            print(visible_lines(f"error: {cause}"))
        except KeyboardInterrupt:
            print("interrupted")
        return True

    def _run(self, command: str | None, argument: str, text: str) -> None:
        match command:
            case ".schema" if argument:
                results.print_description(catalogue.describe_table(self.con, argument, self.settings.warehouse))
            case ".tables" | ".schema":
                results.print_tables(catalogue.list_tables(self.con))
            case ".mode" if argument:
                raise InputError(".mode takes no argument: it turns vertical on or off")
            case ".mode":
                self.form = None if self.form == "vertical" else "vertical"
                print("vertical" if self.form else "vertical only if a table does not fit")
            case ".help":
                print(HELP)
            case None if text:
                con = another(self.con)  # a query that goes on after it was interrupted keeps no other one waiting
                with closed_when_idle(con):
                    result = run_query(con, text, timeout=self.settings.query_timeout)
                    printing.print_result(result, self.form, pager=self.pager)
            case None:
                return
            case _:
                print(visible_lines(f"error: there is no command {command}; .help lists the commands"))


def _command(text: str) -> tuple[str | None, str]:
    """Return the command of the shell that the input is, and its argument; None for a query."""
    word, _, argument = text.strip().rstrip(";").partition(" ")
    word, argument = word.lower(), argument.strip()
    if argument and word in ("\\d", "\\dt"):
        return ".schema", argument
    word = PSQL.get(word) or (word if argument else BARE.get(word, word))
    return (word, argument) if word.startswith((".", "\\")) else (None, "")


def run_shell(
    con: Connection,
    settings: Settings,
    paths: WarehousePaths,
    form: str | None = None,
    pager: printing.Pager | None = None,
) -> None:
    """Prompt for queries until the user leaves."""
    session: PromptSession[str] = PromptSession(
        history=_history(shell_history()),
        completer=Names(con),
        complete_while_typing=False,
        multiline=True,
        prompt_continuation=CONTINUED,
        key_bindings=_bindings(),
    )
    shell = Shell(con, settings, form, pager)
    print(f"{paths.published}, read-only; type help for the commands")
    while True:
        try:
            if not shell.answer(session.prompt(PROMPT)):
                return
        except KeyboardInterrupt:  # the input is dropped
            continue
        except EOFError:
            return


def _bindings() -> KeyBindings:
    """Bind Enter: it ends a complete query, and begins a new line of an incomplete one."""
    bindings = KeyBindings()

    @bindings.add("enter")
    def enter(event: KeyPressEvent) -> None:
        if is_complete(event.current_buffer.text):
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    return bindings


def is_complete(text: str) -> bool:
    """Return whether the input can be executed: a query with its semicolon, a command of the shell, or nothing."""
    text = text.strip()
    return not text or is_ended(text) or _command(text)[0] is not None


def _history(file: Path) -> History:
    """Return the history in a file; in memory only if the file cannot be written."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        return _KeptHistory(str(file))
    return InMemoryHistory()


class _KeptHistory(FileHistory):
    """The history in a file. A query that cannot be kept, such as on a full disk, is run all the same."""

    def load_history_strings(self) -> Iterable[str]:
        """Return the queries of the file, the last one first; none if it cannot be read."""
        with contextlib.suppress(OSError):
            return super().load_history_strings()
        return []

    def store_string(self, string: str) -> None:
        """Add a query to the file, unless it cannot be written there."""
        with contextlib.suppress(OSError):
            super().store_string(string)
