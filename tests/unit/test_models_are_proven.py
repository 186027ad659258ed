"""A model of more than a few lines has a dbt unit test, or another proof that model_proofs.toml names.

The unit tests themselves are checked by tests/integration/test_dbt_unit_tests.py.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import yaml

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import CLONE, DBT_PROJECT

MODELS = DBT_PROJECT / "models"
README = (CLONE / "tests" / "README.md").read_text(encoding="utf-8")
DECLARED = tomllib.loads((CLONE / "tests" / "model_proofs.toml").read_text(encoding="utf-8"))
LONGEST = 1_000


@dataclass(frozen=True)
class Proof:
    """A replacement of a unit test, and the models that it is for."""

    name: str
    models: tuple[str, ...]
    tests: tuple[str, ...]
    most_lines: int = LONGEST
    restored: bool = False

    def covers(self, place: str, lines: int, room_restores: bool) -> bool:
        """Return whether a model at this place, with this number of lines, does not need a unit test."""
        is_named = any(Path(place).match(pattern) for pattern in self.models)
        return is_named and lines <= self.most_lines and (room_restores or not self.restored)


PROOFS = tuple(
    Proof(**{key: tuple(value) if isinstance(value, list) else value for key, value in proof.items()})
    for proof in DECLARED["proofs"]
)


def line_count(path: Path) -> int:
    """Return the lines of a model without blank lines."""
    return sum(1 for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


LONG = {
    path.relative_to(MODELS).with_suffix("").as_posix(): path
    for path in sorted(MODELS.rglob("*.sql"))
    if line_count(path) > DECLARED["lines"]
}
"""Place below models -> each model of more than a few lines."""


@cache
def unit_tested() -> frozenset[str]:
    """Return the models that have a unit test."""
    files = (yaml.load(path.read_bytes(), yaml.CSafeLoader) for path in MODELS.rglob("*.yml"))
    return frozenset(test["model"] for file in files for test in file.get("unit_tests", []))


@cache
def core_table_of_entity() -> dict[str, str]:
    """Return the core table that stacks each entity."""
    stacking = {path.stem: path.read_text(encoding="utf-8") for path in (MODELS / "marts" / "core").glob("*.sql")}
    return {entity: table for table, text in stacking.items() for entity in re.findall(r"union_corpora\('(\w+)'", text)}


@cache
def restored_models(corpus_id: str) -> frozenset[str]:
    """Return the staged and conformed models of a corpus that lead to a core table from which its release is rebuilt."""
    if corpus_id not in registry.corpus_ids():
        return frozenset()
    restoring = (registry.load_corpus(corpus_id).folder / "restore.sql").read_text(encoding="utf-8")
    read = set(re.findall(r"\b(?:dim|fct|source)_\w+", restoring))
    texts = {
        path.stem: path.read_text(encoding="utf-8")
        for layer in ("staging", "intermediate")
        for path in (MODELS / layer / corpus_id).glob("*.sql")
    }
    layers = ("int", "stg")  # core stacks an entity that needs no conformed model from staging
    tables = core_table_of_entity().items()
    entities = {f"{layer}_{corpus_id}__{entity}": table for entity, table in tables for layer in layers}
    waiting = [name for name in texts if entities.get(name) in read]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in texts and name not in found:
            found.add(name)
            waiting += re.findall(r"ref\('(\w+)'\)", texts[name])
    return frozenset(found)


def proofs_of(place: str, lines: int) -> list[str]:
    """Return the names of the proofs of the model at a place below models, with this number of lines."""
    path = Path(place)
    found = ["unit test"] if path.name in unit_tested() else []
    room_restores = path.name in restored_models(path.parent.name)
    return found + [proof.name for proof in PROOFS if proof.covers(place, lines, room_restores)]


@pytest.mark.parametrize("place", LONG)
def test_model_has_a_unit_test_or_another_proof(place: str) -> None:
    lines = line_count(LONG[place])
    most = max(proof.most_lines for proof in PROOFS if proof.restored)
    assert proofs_of(place, lines), (
        f"{place} ({lines} lines): no unit test, and no proof in model_proofs.toml: write a unit test in the file of unit "
        f"tests beside the model; up to {most} lines, it is enough that restore.sql of the corpus reads its table of core"
    )


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        ("marts/analytics/new_mart", 13),
        ("marts/quality/new_table", 13),
        ("marts/core/fct_new", 41),
        ("staging/landing/stg_landing__new", 25),
        *(
            (f"{layer}/{corpus_id}/{prefix}_{corpus_id}__{entity}", lines)
            for corpus_id in registry.corpus_ids()
            for layer, prefix, entity, lines in (
                ("intermediate", "int", "dialogues", 41),
                ("intermediate", "int", "read_by_nobody", 13),
                ("staging", "stg", "read_by_nobody", 13),
            )
            if (place := f"{prefix}_{corpus_id}__{entity}") not in unit_tested()
        ),
    ],
)
def test_model_outside_of_every_proof_is_found(place: str, lines: int) -> None:
    assert proofs_of(place, lines) == []


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_proof_names_existing_models_and_tests(proof: Proof) -> None:
    matched = [place for place in LONG if any(Path(place).match(pattern) for pattern in proof.models)]
    assert all(any(Path(place).match(pattern) for place in matched) for pattern in proof.models)
    assert [test for test in proof.tests if not (CLONE / test).is_file()] == []


def test_readme_names_exactly_the_proofs_with_their_tests() -> None:
    section = README.partition("## What proves a model\n")[2].partition("\n## ")[0]
    rows = [row.split(" | ") for row in re.findall(r"^\| (.+) \|$", section, re.M)][1:]
    reported = {row[0]: tuple(re.findall(r"`((?:\w+/)*test_\w+\.py)`", row[-1])) for row in rows}
    written = {proof.name: tuple(test.removeprefix("tests/") for test in proof.tests) for proof in PROOFS}
    assert reported == {"unit test": ("integration/test_dbt_unit_tests.py",)} | written
