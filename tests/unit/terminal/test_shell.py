"""The shell of `sql`: completion, queries over several lines, history."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

import duckdb
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from dialogue_warehouse.reading import query
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.terminal import shell


def completions(con, text: str) -> list[str]:
    return [one.text for one in shell.Names(con).get_completions(Document(text), CompleteEvent())]


def test_the_shell_completes_tables_columns_and_words(con):
    assert completions(con, "select * from fct_t") == ["fct_turns"]
    assert completions(con, "select * from core.fct_t") == ["core.fct_turns"]
    assert completions(con, "select t.utt") == []
    assert "fruit__apples" in completions(con, "from fru")
    assert "utterance" in completions(con, "from fct_turns where utt")
    assert "select" in completions(con, "sel")
    assert shell.Names(con)._meant("t", "select t.u from fct_turns as t") == "fct_turns"


def test_shell_answers_multiline_queries_and_continues_after_an_error(paths, con, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    from prompt_toolkit.application import create_app_session

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text("select count(*) as n\nfrom fct_turns;\n")
        keys.send_text("select nothing;\n\\d fct_turns\n\\x\nselect 1 as one;\ndrop table fct_turns;\n\\q\n")
        shell.run_shell(con, Settings(warehouse=paths.root), paths)
    said = capsys.readouterr().out
    for words in ("3", "error: Binder Error", "What was said.", "vertical", "── row 1", "not DROP"):
        assert words in said, words
    history = (tmp_path / "dialogue-warehouse" / "sql_history").read_text()
    assert "+from fct_turns;" in history


def test_shell_works_without_a_history_file(tmp_path):
    (tmp_path / "file").write_text("")
    assert type(shell._history(tmp_path / "file" / "history")).__name__ == "InMemoryHistory"


def test_query_that_the_history_cannot_keep_is_run(tmp_path):
    """Regression: on a full disk a query was not run, and a traceback filled the terminal."""
    file = tmp_path / "history"
    history = shell._history(file)
    history.append_string("select 1;")
    assert list(history.load_history_strings()) == ["select 1;"]
    file.unlink()
    file.mkdir()
    history.append_string("select 2;")
    assert history.get_strings()[-1] == "select 2;"
    assert list(history.load_history_strings()) == []


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (".tables", "core.fct_turns"),
        (".schema fct_turns;", "What was said."),
        ("\\d fct_turns", "What was said."),
        (".mode", "vertical"),
        (".mode csv", "error: .mode takes no argument: it turns vertical on or off"),
        ("help", ".schema TABLE"),
        (".nothing", "error: there is no command .nothing; .help lists the commands"),
        ("select * from turns;", "Did you mean core.fct_turns?"),
    ],
)
def test_commands_are_those_of_other_sql_shells(paths, con, capsys, typed: str, said: str) -> None:
    assert shell.is_complete(typed)
    assert shell.Shell(con, Settings(warehouse=paths.root)).answer(typed)
    assert said in capsys.readouterr().out


def test_query_that_goes_on_after_its_interrupt_keeps_no_other_one_waiting(
    paths, con, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: the next query was refused, because the connection was busy."""
    busy = []

    def interrupt(self: query.Patience, step: Callable[[], object]) -> object:
        def work() -> None:
            with contextlib.suppress(duckdb.InterruptException):
                step()

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        time.sleep(0.5)  # until the query works
        busy.append((self._con, worker))
        raise KeyboardInterrupt

    opened = shell.Shell(con, Settings(warehouse=paths.root))
    with monkeypatch.context() as patched:
        patched.setattr(query.Patience, "wait_for", interrupt)
        assert opened.answer("select count(*) from range(1000000000) as a cross join range(1000000000) as b")
    assert opened.answer("select 41 + 1 as n")
    assert "42" in capsys.readouterr().out
    for own, worker in busy:
        own.interrupt()
        worker.join(30)


@pytest.mark.parametrize("typed", [".quit", "quit;", "exit", "\\q"])
def test_shell_ends(paths, con, typed: str) -> None:
    assert shell.is_complete(typed)
    assert not shell.Shell(con, Settings(warehouse=paths.root)).answer(typed)


def test_query_with_the_word_of_a_command_is_a_query() -> None:
    assert not shell.is_complete("help me from fct_turns")


@pytest.mark.parametrize(
    ("typed", "is_complete"),
    [
        ("select 'a;", False),
        ("select 'a;\nb';", True),
        ('select 1 as "a;', False),
        ("select $$it's;", False),
        ("select $$it's;$$;", True),
        ("select 1 /* later;", False),
        ("select 1 -- later;", False),
        ("select 1; -- the first", True),
        ("select 'é漢'; /* 漢 */", True),
        ("select '\udcff';", True),
    ],
)
def test_semicolon_in_a_text_or_a_comment_does_not_end_a_query(typed: str, is_complete: bool) -> None:
    """Regression: a text of two lines whose first one ends with a semicolon was run after the first line."""
    assert shell.is_complete(typed) is is_complete
