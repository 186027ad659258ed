"""The project is written in plain English: the words of vocabulary.toml occur in no text that people read.

Texts are docstrings, comments, strings and test names of Python, and the whole of every other text file. Other names of
Python have none of the listed single words. Quotes of other authors are exempt by their place: the files listed under [[quotes]], and every
`quote` of a TOML file. A docstring begins with a verb or a noun, not with a question word.
"""

from __future__ import annotations

import ast
import fnmatch
import io
import re
import subprocess
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dialogue_warehouse.paths import CLONE

pytestmark = pytest.mark.all_corpora

LISTED: dict[str, list[dict[str, Any]]] = tomllib.loads(
    (Path(__file__).parent / "vocabulary.toml").read_text(encoding="utf-8")
)
OURS = frozenset(f"tests/unit/{name}" for name in ("test_vocabulary.py", "vocabulary.toml"))
"""The files that list the words."""
SUFFIXES = frozenset(
    {".py", ".sql", ".md", ".toml", ".yml", ".yaml", ".html", ".js", ".css", ".sh", ".service", ".txt", ""}
)
QUESTION = re.compile(r"\s*(What|Whether|Who|How|Where|Which)\b")
QUESTIONS = re.compile(rf'"""{QUESTION.pattern}')
QUOTED = re.compile(
    r'^(?:quote|citation) = (?:"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\')', re.M
)
"""A quote of another author in a TOML file, or the citation that a publisher asks for."""
MARKS = re.compile(r"^[ \t]*(?:#|--|//|\*|>)[ \t]?", re.M)
"""The mark of a comment at the beginning of a line. A sentence goes on after it."""
JOINED = re.compile(r"""["']\s*\n\s*f?["']""")
"""The break between two literals that are one string."""
NAMES = re.compile(r"\w+(?:, ?\w+)*")
"""A string that is a name, or several, and not a text: such as that of a parameter."""


class Text(NamedTuple):
    """A text that people read, and the numbers of its first and last line."""

    line: int
    last: int
    text: str
    is_docstring: bool = False


def pattern_of(entry: dict[str, Any]) -> str:
    """Return the pattern of a listed word; any white space may separate its parts."""
    word = r"\s+".join(map(re.escape, entry["word"].split()))
    before = rf"(?<!{entry['not_after']} )" if "not_after" in entry else ""
    after = rf"(?!\s+{entry['not_before']})" if "not_before" in entry else ""
    return rf"{before}\b{word}\b{after}"


WORDS = re.compile("|".join(map(pattern_of, LISTED["words"])), re.IGNORECASE)
SINGLE = {entry["word"] for entry in LISTED["words"] if entry.keys() == {"word", "instead"} and entry["word"].isalpha()}
"""The words that no name may have between its underscores."""
NAMED = {
    ast.Name: "id",
    ast.arg: "arg",
    ast.keyword: "arg",
    ast.Attribute: "attr",
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
}
"""The nodes of a syntax tree that have a name, and its attribute."""


def texts_of(path: str, content: str) -> Iterator[Text]:
    """Yield the texts of a file."""
    if path.endswith(".py"):
        yield from _texts_of_python(content)
    else:
        content = QUOTED.sub(lambda quote: "\n" * quote[0].count("\n"), content) if path.endswith(".toml") else content
        yield Text(1, content.count("\n") + 1, MARKS.sub("", content))


def _texts_of_python(content: str) -> Iterator[Text]:
    tree = ast.parse(content)
    docstrings = {id(node) for node in _docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not NAMES.fullmatch(node.value):
            yield Text(node.lineno, node.end_lineno or node.lineno, node.value, id(node) in docstrings)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield Text(node.lineno, node.lineno, node.name.replace("_", " "))
        elif used := SINGLE & set(_name_of(node).lower().split("_")):
            yield Text(node.lineno, node.lineno, min(used))
    yield from _comments(content)


def _name_of(node: ast.AST) -> str:
    """Return the name that a node has; "" for a node without a name."""
    return getattr(node, NAMED.get(type(node), ""), None) or ""


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the texts that are statements: docstrings, also those below a constant or a field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


def _comments(content: str) -> Iterator[Text]:
    """Yield the comments; those in adjacent lines are one text."""
    lines: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(content).readline) if "#" in content else ():
        if token.type != tokenize.COMMENT:
            continue
        if lines and token.start[0] != last + 1:
            yield Text(last - len(lines) + 1, last, "\n".join(lines))
            lines = []
        lines.append(token.string.lstrip("# "))
        last = token.start[0]
    if lines:
        yield Text(last - len(lines) + 1, last, "\n".join(lines))


def problems(path: str, content: str) -> list[str]:
    """Return a line for each word in a file that is not allowed there, and for each docstring with a question word."""
    flat = " ".join(JOINED.sub("", MARKS.sub("", content.replace("_", " "))).lower().split())
    if not any(entry["word"] in flat for entry in LISTED["words"]) and not QUESTIONS.search(content):
        return []  # true of most files, and much faster than reading their texts
    allowed = {entry["word"].lower() for entry in LISTED["exceptions"] if entry["file"] == path}
    found = []
    for line, last, text, is_docstring in texts_of(path, content):
        for word in WORDS.finditer(text):
            name = " ".join(word[0].lower().split())
            if name not in allowed:
                place = min(line + text.count("\n", 0, word.start()), last)
                found.append(f"{path}:{place}: '{name}'")
        if is_docstring and (question := QUESTION.match(text)):
            found.append(f"{path}:{line}: a docstring begins with '{question[1]}': use a verb or a noun")
    return found


def files() -> Iterator[str]:
    """Yield the text files of the project, without those that quote others."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    for path in subprocess.run(command, capture_output=True, text=True, check=True, cwd=CLONE).stdout.splitlines():
        is_quoted = any(fnmatch.fnmatch(path, entry["files"]) for entry in LISTED["quotes"])
        if Path(path).suffix in SUFFIXES and not is_quoted and path not in OURS and (CLONE / path).is_file():
            yield path


def test_words_of_the_list_occur_in_no_text() -> None:
    found = [problem for path in files() for problem in problems(path, (CLONE / path).read_text(encoding="utf-8"))]
    instead = {f"'{entry['word'].lower()}'": f": use {entry['instead']}" for entry in LISTED["words"]}
    assert [problem + instead.get(problem.partition(": ")[2], "") for problem in found] == []


def test_each_exception_has_its_reason_and_is_used() -> None:
    for entry in LISTED["exceptions"]:
        assert entry.keys() == {"file", "word", "reason"}
        assert len(entry["reason"]) > 20
        content = (CLONE / entry["file"]).read_text(encoding="utf-8")
        texts = " ".join(text.text for text in texts_of(entry["file"], content))
        assert entry["word"] in [" ".join(word[0].lower().split()) for word in WORDS.finditer(texts)], entry
    for entry in LISTED["quotes"]:
        assert len(entry["reason"]) > 20
        assert [path for path in CLONE.glob(entry["files"]) if path.is_file()], entry


@pytest.mark.parametrize(
    ("path", "line", "content"),
    [
        ("a.py", 1, '"""This {}, as an example."""\n'),
        ("a.py", 1, "x = f'{{y}} {}, as an example'\n"),
        ("a.py", 1, "x = 1  # this {}, as an example\n"),
        ("a.py", 1, "def test_{_}():\n    pass\n"),
        ("a.md", 2, "A page\nthat {}, as an example\n"),
        ("a.sql", 1, "-- this {}, as an example\n"),
        ("a.yml", 1, "description: This {}, as an example\n"),
        ("a.toml", 1, 'why = "This {}, as an example"\n'),
        ("a.html", 1, "<p>This {}, as an example</p>\n"),
    ],
)
def test_listed_words_are_found_in_every_kind_of_text(path: str, line: int, content: str) -> None:
    for word in (entry["word"] for entry in LISTED["words"]):
        text = content.format(word.capitalize(), _=word.replace(" ", "_"))
        assert problems(path, text) == [f"{path}:{line}: '{word}'"]


@pytest.mark.parametrize(
    ("path", "content", "found"),
    [
        ("a.py", "# it is\n# no table\n", "a.py:1: 'is no'"),
        ("a.sql", "-- it is\n-- no table\n", "a.sql:1: 'is no'"),
        ("a.py", "x = ('it is '\n     'no table')\n", "a.py:1: 'is no'"),
        ("a.py", "x = 1\n# one\n# told\n", "a.py:3: 'told'"),
        (
            "a.py",
            'def f():\n    """Whether it works."""\n',
            "a.py:2: a docstring begins with 'Whether': use a verb or a noun",
        ),
        ("a.py", 'X = 1\n"""\nWhat it is.\n"""\n', "a.py:2: a docstring begins with 'What': use a verb or a noun"),
        ("a.py", "x = 1\ny = f'{x} {told}'\n", "a.py:2: 'told'"),
        ("a.py", "x = 1\nis_told = x\n", "a.py:2: 'told'"),
        ("a.py", "def f(\n    told: str,\n) -> str: ...\n", "a.py:2: 'told'"),
        ("a.py", "x.told_of()\n", "a.py:1: 'told'"),
        ("a.py", "f(told=1)\n", "a.py:1: 'told'"),
        ("a.py", "class Told_Of: ...\n", "a.py:1: 'told'"),
        ("a.toml", 'quote = "told"\nwhy = "told"\n', "a.toml:2: 'told'"),
        ("a.toml", 'quote = """told\nanew"""\nwhy = "told"\n', "a.toml:3: 'told'"),
    ],
)
def test_place_of_a_word_is_found(path: str, content: str, found: str) -> None:
    assert problems(path, content) == [found]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.py", "def tell_what_became(): ...\n"),
        ("a.py", "untold = parse(text, retold=1)\n"),
        ("a.py", 'X = """What is this?"""\n'),
        ("a.md", "There is no table. It is no longer there.\n"),
        ("a.md", "An asset of its own corpus was untold.\n"),
        ("a.toml", "quote = 'told'\n"),
        ("a.toml", 'citation = "House 2026. Told twice."\n'),
    ],
)
def test_other_text_is_not_found(path: str, content: str) -> None:
    assert problems(path, content) == []
