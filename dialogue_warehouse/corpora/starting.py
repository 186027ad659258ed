"""Start a corpus: write every piece that it needs into the clone, as a copy to edit.

The copy is of an existing corpus, or of the smallest possible one, which is in docs/small_corpus for this purpose and
is not part of the warehouse. The name is replaced in paths and texts, so that the copy is complete: it builds and
passes every check, with the other corpus's content. docs/add_a_corpus.md explains each piece. What does not belong
here: anything about the content of a corpus.
"""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Iterator
from pathlib import Path

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE

PLACES = (
    "dialogue_warehouse/corpora/{}",
    "dbt_project/models/staging/{}",
    "dbt_project/models/intermediate/{}",
    "dbt_project/models/marts/quality/rules/{}",
    "tests/fixtures/{}",
)
"""The folders of a corpus."""
STAGING, CONFORMED, RULES = PLACES[1:4]
"""The folders of the models; only a corpus with known defects has that of the rules."""
PROJECT = "dbt_project/dbt_project.yml"
"""The file where its entities are one entry of `vars.corpora`."""
SMALLEST, SMALLEST_FOLDER = "hotline", "docs/small_corpus"
"""The model of a corpus that is unlike any other, and the folder that it is in."""
NAME = re.compile(r"[a-z][a-z0-9]{1,29}")
RESERVED_NAMES = ("shared", "landing", "core", "quality", "analytics", "marts", "raw", "all", "none", "forms")
"""Names that a folder, a schema or a term of the project has already."""
ENTRY = re.compile(r"^    (\w+): \[[^\]]*\]\n", flags=re.M)
"""An entry of `vars.corpora`; or of `vars.derived` or `vars.staged`, which not every corpus has."""
OF_THE_PUBLISHER = (
    r'^(?:homepage|citation|url|upstream) = ".*"$|^mirrors = \[.*\]$'
    r'|^quote = (?:"""[\s\S]*?"""|".*")$'
    r"|^texts = \[(?:.*\]$|\n[\s\S]*?^\])"
)
"""Addresses and words of the publisher in a TOML file: they keep the name that he uses."""
NOTHING = "(?!)"
CLAIMS_OF_TWINS = re.compile(r'^(?:@breaks\([^)]*\)|    "[\w.]+": )', flags=re.M)
"""The ids of claims in a twins.py: those that must notice an error, and that of a statement."""
CLAIM_OF_A_TEST = re.compile(r'"([A-Z]\d\d?(?:\.\d)?[a-z]?)"')
"""The id of a claim in a test of one corpus."""


def start_corpus(name: str, like: str | None = None, clone: Path = CLONE) -> list[str]:
    """Write the pieces of a new corpus. Return their paths in the clone. Nothing is overwritten.

    Raises InputError if a piece is there already, or if the clone or the name cannot be used.
    """
    if like and like not in registry.corpus_ids():
        raise InputError(f"{like}: no such corpus; there are {', '.join(registry.corpus_ids())}")
    model, source = (like, clone) if like else (SMALLEST, clone / SMALLEST_FOLDER)
    return add_corpus(source, model, name, clone)


def add_corpus(source: Path, model: str, name: str, clone: Path = CLONE) -> list[str]:
    """Write the pieces of a new corpus as a copy of the corpus `model`, whose pieces are below the folder `source`.

    Return their paths in the clone. Nothing is overwritten. Raises InputError as `start_corpus` does.
    """
    _refuse_name(name, clone)
    places = [place.format(model) for place in PLACES if place != RULES]
    lacking = [place for place in (PROJECT, *places) if not (source / place).exists()]
    if lacking or not (clone / PROJECT).is_file():
        raise InputError(
            f"a corpus can only be added to a clone of the project: {source} lacks {(*lacking, PROJECT)[0]}"
        )
    pieces = dict(_pieces(source, model, name))
    there = [path for path in pieces if os.path.lexists(clone / path)]
    if there:
        raise InputError(f"{there[0]} exists already; nothing was written")
    project = _with_entries(source, clone, model, name)
    for path, content in pieces.items():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_bytes(content)
    (clone / PROJECT).write_text(project, encoding="utf-8")
    return [*pieces, PROJECT]


def declared_corpora(clone: Path = CLONE) -> tuple[str, ...]:
    """Return the corpora that have an entry in `vars.corpora`."""
    return tuple(_entries((clone / PROJECT).read_text(encoding="utf-8"), "corpora"))


def entities_of(name: str, variable: str = "corpora", clone: Path = CLONE) -> tuple[str, ...] | None:
    """Return the entities of a corpus, as its entry in this variable lists them; None if there is no entry."""
    entry = _entries((clone / PROJECT).read_text(encoding="utf-8"), variable).get(name)
    return tuple(re.findall(r"\w+", entry[0].partition("[")[2])) if entry else None


def model_of(name: str, entity: str, clone: Path = CLONE) -> str:
    """Return the path of the model that a corpus must have for one of its entities."""
    if entity == "rules":
        return f"{RULES.format(name)}/{name}__rules.sql"
    is_staged = entity in (entities_of(name, "staged", clone) or ())
    folder, prefix = (STAGING, "stg") if is_staged else (CONFORMED, "int")
    return f"{folder.format(name)}/{prefix}_{name}__{entity}.sql"


def _refuse_name(name: str, clone: Path) -> None:
    if keyword.iskeyword(name):
        raise InputError(f"'{name}' cannot be the name of a corpus: it is a keyword of Python, choose another one")
    if not NAME.fullmatch(name):
        raise InputError(
            f"'{name}' cannot be the name of a corpus: use 2 to 30 lower-case letters and digits, a letter first"
        )
    if name in RESERVED_NAMES or name == SMALLEST or (clone / f"dialogue_warehouse/corpora/{name}.py").exists():
        raise InputError(f"'{name}' cannot be the name of a corpus: the project uses this name, choose another one")
    if (clone / f"dialogue_warehouse/corpora/{name}").exists():
        raise InputError(f"{name}: the corpus exists already")


def _pieces(source: Path, model: str, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path in the clone and the content of each file."""
    for place in PLACES:
        for path in sorted((source / place.format(model)).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                relative = _renamed(path.relative_to(source).as_posix(), model, name)
                yield relative, _content(path, model, name)


def _content(path: Path, model: str, name: str) -> bytes:
    """Return a file's content with the name replaced, and with the name before ids of claims, which must be unique."""
    data = path.read_bytes()
    try:
        text = _renamed(data.decode(), model, name, OF_THE_PUBLISHER if path.suffix == ".toml" else NOTHING)
    except UnicodeDecodeError:
        return data
    if path.name == "claims.toml":
        before, mark, rules = text.partition("\n[[defects]]\n")
        text = re.sub(rf'^id = "(?!{name}_)', f'id = "{name}_', before, flags=re.M) + mark + rules
    elif path.name.endswith("twins.py"):
        own = re.compile(rf'(?<=[(\s"])(?!{name}_)(\w[\w.]*)(?=["=])')
        text = CLAIMS_OF_TWINS.sub(lambda found: own.sub(rf"{name}_\1", found[0]), text)
    elif path.name.startswith("test_"):
        text = CLAIM_OF_A_TEST.sub(rf'"{name}_\1"', text)
    elif path.name == "sentences.toml":
        text = re.sub(rf'^claim = "(?!{name}_)', f'claim = "{name}_', text, flags=re.M)
    return text.encode()


def _renamed(text: str, model: str, name: str, kept: str = NOTHING) -> str:
    """Replace one corpus's id by another's in a text, also inside a longer name such as stg_<corpus>__turns.

    What the pattern `kept` matches is not changed.
    """
    pattern = re.compile(rf"(?P<kept>{kept})|(?<![A-Za-z0-9]){model}(?![a-z0-9])", flags=re.M)
    return pattern.sub(lambda found: found["kept"] or name, text)


def _entries(text: str, variable: str) -> dict[str, re.Match[str]]:
    """Return the corpora's entries of a variable of the project, with their places in the file."""
    block = re.search(rf"^  {variable}:\n((?:    .*\n)+)", text, flags=re.M)
    return {found[1]: found for found in ENTRY.finditer(text, *block.span(1))} if block else {}


def _with_entries(source: Path, clone: Path, model: str, name: str) -> str:
    """Return the project's file with the entries that the model has, in the order of the names."""
    given, text = ((folder / PROJECT).read_text(encoding="utf-8") for folder in (source, clone))
    if model not in _entries(given, "corpora") or not _entries(text, "corpora"):
        raise InputError(f"{source / PROJECT}: vars.corpora has no entry of the form '    {model}: [...]'")
    for variable in ("corpora", "derived", "staged"):
        wanted, entries = _entries(given, variable).get(model), _entries(text, variable)
        if wanted:
            behind = [found.start() for other, found in sorted(entries.items()) if other > name]
            place = behind[0] if behind else max(found.end() for found in entries.values())
            text = text[:place] + _renamed(wanted[0], model, name) + text[place:]
    return text
