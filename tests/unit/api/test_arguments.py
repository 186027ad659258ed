"""Arguments of the Python API that are wrong: one line says which argument, and why."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

import dialogue_warehouse as dw
from dialogue_warehouse.api import arguments
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE

FLAGS = [
    (method.__name__, name)
    for method in (dw.open, *vars(dw.Warehouse).values())
    if inspect.isfunction(method) and method.__name__[0] != "_"
    for name, parameter in inspect.signature(method).parameters.items()
    if parameter.annotation == "bool"
]
"""Each argument that is True or False, with its function."""
OTHERS = {"export": ("chat", "folder"), "search": ("words",), "score": ("sgd", "predictions.json")}
"""The arguments that a method must have."""


class PathOfBytes:
    """A path whose name is bytes, which `pathlib` refuses."""

    def __fspath__(self) -> bytes:
        return b"folder"


def test_arguments_that_are_true_or_false_are_found():
    assert {("open", "raw"), ("export", "force"), ("violations", "summary"), ("score", "across_turn")} <= set(FLAGS)


@pytest.mark.parametrize(("method", "name"), FLAGS)
@pytest.mark.parametrize("value", ["no", "False", 2, []])
def test_value_that_is_neither_true_nor_false_is_refused(paths, tmp_path, monkeypatch, method, name, value):
    """Regression: a text such as `no` counted as True."""
    monkeypatch.chdir(tmp_path)
    with dw.open(paths.root) as warehouse, pytest.raises(dw.InputError) as raised:
        if method == "open":
            dw.open(paths.root, **{name: value})
        getattr(warehouse, method)(*OTHERS.get(method, ()), **{name: value})
    assert str(raised.value) == f"{name}: {value!r} is not one of False, True"
    assert not Path("folder").exists()


def test_page_of_a_dialogue_is_true_or_false():
    with pytest.raises(dw.InputError, match=r"^page: 'no' is not one of False, True$"):
        dw.Dialogue.to_html(None, page="no")


@pytest.mark.parametrize("name", ["keys", "corpus", "split", "license"])
@pytest.mark.parametrize("empty", [[], (), (name for name in ()), {}])
def test_empty_list_does_not_select_everything(paths, name, empty):
    """Regression: an empty list of corpora, splits or licenses selected all of them."""
    with (
        dw.open(paths.root) as warehouse,
        pytest.raises(dw.InputError, match=f"^{name}: the list is empty; use None for no limit$"),
    ):
        warehouse.dialogues(**{name: empty})


@pytest.mark.parametrize("method", ["claims", "violations"])
def test_empty_list_of_corpora_does_not_return_the_rows_of_all(paths, method):
    with dw.open(paths.root) as warehouse, pytest.raises(dw.InputError, match=r"^corpus: the list is empty; "):
        getattr(warehouse, method)(corpus=[])


@pytest.mark.parametrize(
    ("use", "reported"),
    [
        (lambda warehouse: warehouse.score("sgd", "file", split=["test"]), "split: ['test'] is not a string"),
        (lambda warehouse: warehouse.score("sgd", "file", fuzzy=["exact"]), "fuzzy: ['exact'] is not a string"),
        (lambda warehouse: warehouse.dialogues(sample=1, seed=True), "seed: True is not a number"),
        (lambda warehouse: warehouse.table("\ud800"), r"name: '\ud800' is not valid Unicode text"),
        (lambda warehouse: warehouse.dialogues(corpus=["\ud800"]), r"corpus: '\ud800' is not valid Unicode text"),
    ],
)
def test_value_of_another_type_is_named(paths, use: Callable[[dw.Warehouse], object], reported: str):
    with dw.open(paths.root) as warehouse, pytest.raises(dw.InputError) as raised:
        use(warehouse)
    assert str(raised.value).startswith(reported)


def test_no_pattern_of_the_words_tries_each_beginning_of_a_long_text():
    """Regression: a pattern began with any number of letters, and an error about 200,000 letters took minutes."""
    assert [pattern for pattern, _ in arguments.ARGUMENTS if pattern.startswith(("(", "\\w", "."))] == []


@pytest.mark.parametrize("value", [Path("file"), {1, 2}, 2**200, object()])
def test_value_that_a_query_cannot_take_is_named(paths, value):
    with dw.open(paths.root) as warehouse, pytest.raises(dw.QueryError, match=r"^second: [^\n]+$"):
        warehouse.sql("select $first, $second", first="a", second=value)


def test_path_of_bytes_is_refused():
    with pytest.raises(dw.InputError, match=r"^place: <.*> is neither a path nor a URL$"):
        arguments.place(PathOfBytes())
    with pytest.raises(dw.InputError, match=r"^to: <.*> is not a path$"):
        arguments.path("to", PathOfBytes())


@pytest.mark.parametrize("given", ["a\ud800", Path("a\ud800")])
def test_path_with_half_a_surrogate_pair_is_refused(given: str | Path):
    """Regression: it was an internal error of Python."""
    with pytest.raises(dw.InputError, match=r"^place: .*\\ud800.* is neither a path nor a URL$"):
        arguments.place(given)
    with pytest.raises(dw.InputError, match=r"^to: .*\\ud800.* is not a path$"):
        arguments.path("to", given)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (
            duckdb.OutOfMemoryException("Out of Memory Error: no block\n\nPossible solutions:\n* SET memory_limit"),
            "DuckDB needs more memory than it may use: memory_limit of open allows more",
        ),
        (duckdb.IOException("IO Error: Could not write file\nmore"), "IO Error: Could not write file"),
        (OSError(28, "No space left on device", "folder/file"), "folder/file: No space left on device"),
    ],
)
def test_what_cannot_be_done_is_a_check_error_of_one_line(raised: Exception, said: str):
    """Regression: reading and exporting with little memory raised DuckDB's own error, of several lines."""
    with pytest.raises(dw.CheckError) as refused, arguments.in_words_of_python():
        raise raised
    assert str(refused.value) == said


def errors_of(module: Path) -> Iterator[str]:
    """Yield the texts of the errors that a module raises, with `x` for each value."""
    for raised in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        for text in ast.walk(raised.exc) if isinstance(raised, ast.Raise) and raised.exc else ():
            if isinstance(text, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in text.values)


@pytest.mark.parametrize(
    "module", ["exporting/writing", "common/files", "reading/selection", "reading/query", "scoring/running"]
)
def test_no_error_names_an_option_of_the_command_line(module: str):
    """Regression: `export` named --force of files of another export."""
    named = [text for text in errors_of(CLONE / f"dialogue_warehouse/{module}.py") if "--" in text]
    assert named
    for text in named:
        with pytest.raises(dw.InputError) as refused, arguments.in_words_of_python():
            raise InputError(text)
        assert "--" not in str(refused.value)


def test_summary_of_a_build_of_another_version_names_it(paths):
    """Regression: a notebook showed DuckDB's own error."""
    with (
        dw.open(paths.root) as warehouse,
        pytest.raises(dw.QueryError, match=r"^build \w+ was made by another version"),
    ):
        warehouse._repr_html_()
