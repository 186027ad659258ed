"""Contract between a corpus's conformed models and the core models that stack them, and the result of a breach."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import pytest
import yaml

from dialogue_warehouse.paths import DBT_PROJECT, WarehousePaths
from tests.integration.clones import build_with, copy_clone

VARIABLES = yaml.safe_load((DBT_PROJECT / "dbt_project.yml").read_text(encoding="utf-8"))["vars"]
ENTITIES = {
    corpus: [entity for entity in entities if entity not in VARIABLES["staged"].get(corpus, [])]
    for corpus, entities in VARIABLES["corpora"].items()
}
"""The entities of each corpus that have a conformed model."""
FIRST = next(corpus for corpus in sorted(ENTITIES) if "exceptions" in ENTITIES[corpus])
LAST = next(corpus for corpus in sorted(ENTITIES, reverse=True) if "services" in ENTITIES[corpus])


@dataclass(frozen=True)
class Broken:
    """Copy of the clone with broken conformed models, and the result of its build, which left its scratch folder."""

    project: Path
    paths: WarehousePaths
    stderr: str
    corpora: tuple[str, ...] = tuple(ENTITIES)
    """The corpora that were built."""
    breaches: dict[str, list[str]] = field(default_factory=dict)
    """The models that return other columns than they should, and these columns."""


def wanted_columns(project: Path, corpora: Container[str] = ENTITIES) -> dict[str, list[str]]:
    """Return the columns that the SQL of each conformed model of these corpora must return.

    These are the columns of the table that stacks it, without those that the table computes and the corpus lacks.
    """
    described = {
        model["name"]: [column["name"] for column in model["columns"]]
        for path in (project / "models/marts").rglob("*.yml")
        for model in yaml.safe_load(path.read_text(encoding="utf-8")).get("models", [])
        if "columns" in model
    }
    found = {}
    for path in (project / "models/marts").rglob("*.sql"):
        for entity, computed in re.findall(r"union_corpora\('(\w+)'(.*?)\)", path.read_text(encoding="utf-8")):
            having = [corpus for corpus, entities in ENTITIES.items() if corpus in corpora and entity in entities]
            for name in (f"int_{corpus}__{entity}" for corpus in having):
                left_out = set(re.findall(r"'(\w+)'", computed)) | lacking(project, name)
                found[name] = [column for column in described[path.stem] if column not in left_out]
    return found


def lacking(project: Path, name: str) -> set[str]:
    """Return the columns that a conformed model declares as lacking."""
    (path,) = (project / "models/intermediate").rglob(f"{name}.sql")
    declared = re.search(r"'lacks': \[(.*?)\]", path.read_text(encoding="utf-8"), re.DOTALL)
    return set(re.findall(r"'(\w+)'", declared[1])) if declared else set()


def wrap(project: Path, corpus: str, entity: str, select: str) -> None:
    """Select from the SQL of a conformed model, so that it returns other columns."""
    path = project / f"models/intermediate/{corpus}/int_{corpus}__{entity}.sql"
    path.write_text(f"{select} from (\n{path.read_text(encoding='utf-8')}\n) as wrapped\n", encoding="utf-8")


def fail_to_build(project: Path, warehouse: Path, *options: str) -> Broken:
    """Build the sample with the project of a copied clone; the build must fail."""
    completed = build_with(project, warehouse, "--quiet", *options)
    assert completed.returncode == 1, completed.stderr
    assert "Traceback" not in completed.stderr
    assert not WarehousePaths(warehouse).published.exists()
    return Broken(project, WarehousePaths(warehouse), completed.stderr)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory, only: tuple[str, ...]) -> Broken:
    """Break two core tables that row_accounting does not read, so that row_accounting is reached and refused too.

    With `--corpus` one table of this corpus is broken, which every corpus has.
    """
    project = copy_clone(tmp_path_factory.mktemp("clone"))
    last = only[-1] if only else LAST
    breaches = {f"int_{last}__pointer_forms": ["nickname"]}
    wrap(project, last, "pointer_forms", "{{ config(meta={'lacks': ['nickname']}) }} select *, 1 as nickname")
    if not only:
        breaches[f"int_{FIRST}__exceptions"] = ["form"]
        wrap(project, FIRST, "exceptions", "select * exclude (form)")
        accounting = project / f"models/intermediate/{LAST}/int_{LAST}__accounting.sql"
        text = accounting.read_text(encoding="utf-8")
        accounting.write_text(text.replace("core='dim_dialogues'", "core='dim_monologues'"), encoding="utf-8")
    failed = fail_to_build(project, tmp_path_factory.mktemp("warehouse"), *only)
    return replace(failed, corpora=only[1:] or failed.corpora, breaches=breaches)


@pytest.fixture(scope="module")
def given(broken: Broken) -> dict[str, list[str]]:
    """Return each conformed model that core stacks, and the columns that its SQL returns."""
    return columns_of(broken, "int_*", wanted_columns(DBT_PROJECT, broken.corpora))


def columns_of(broken: Broken, pattern: str, names: Container[str] | None = None) -> dict[str, list[str]]:
    """Return the columns that the SQL of models of the corpora returns."""
    found = {}
    with duckdb.connect() as con:
        con.execute(f"set file_search_path = '{broken.paths.scratch}'")
        con.execute(f"attach '{broken.paths.scratch_staging}' as staging (read_only)")
        for path in (broken.paths.dbt_target / "compiled").rglob(f"{pattern}.sql"):
            is_other = path.parent.name in ENTITIES and path.parent.name not in broken.corpora
            if not is_other and (names is None or path.stem in names):
                sql = path.read_text(encoding="utf-8")
                found[path.stem] = [column for column, *_ in con.execute(f"describe {sql}").fetchall()]
    return found


def undefined(columns: dict[str, list[str]]) -> set[tuple[str, str]]:
    """Return the columns of staging models that neither columns.md defines nor their YAML describes."""
    defined = set(re.findall(r"{% docs (\w+) %}", (DBT_PROJECT / "models/columns.md").read_text(encoding="utf-8")))
    described = {
        (model["name"], column["name"])
        for path in (DBT_PROJECT / "models/staging").rglob("*.yml")
        for model in yaml.safe_load(path.read_text(encoding="utf-8")).get("models", [])
        for column in model.get("columns", [])
    }
    given = {(name, column) for name, listed in columns.items() for column in listed if column not in defined}
    return given - described


@pytest.mark.all_corpora
def test_every_column_of_staging_has_a_name_that_is_defined(broken: Broken) -> None:
    columns = columns_of(broken, "stg_*")
    assert len(columns) > 2 * len(broken.corpora)
    assert sorted(undefined(columns)) == [], "name it as in models/columns.md, or describe it in the model's YAML"
    name = next(iter(columns))
    assert undefined({name: ["corpus_id", "nickname"]}) == {(name, "nickname")}


def differences(wanted: dict[str, list[str]], given: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the models whose SQL does not return the wanted columns, with the columns that only one side has."""
    return {
        name: sorted(set(columns) ^ set(given[name]))
        for name, columns in wanted.items()
        if sorted(columns) != sorted(given[name])
    }


@pytest.mark.all_corpora
def test_every_conformed_model_returns_the_columns_that_its_corpus_has(
    broken: Broken, given: dict[str, list[str]]
) -> None:
    """The broken models are found, and no other one."""
    assert len(given) > len(broken.corpora)
    found = differences(wanted_columns(DBT_PROJECT, broken.corpora), given)
    others = {name: columns for name, columns in found.items() if name not in broken.breaches}
    assert others == {}, "a column is in the SQL of the model or in its `lacks`, never in both and never in neither"
    assert found == broken.breaches


@pytest.mark.parametrize(
    "message",
    [
        r"model source_exceptions: .*\bform\b",
        rf"model dim_pointer_forms: .*{LAST}: int_{LAST}__pointer_forms says that it lacks nickname, "
        "which dim_pointer_forms does not have",
        rf"model row_accounting: .*{LAST}: int_{LAST}__accounting says that dialogues are in dim_monologues, "
        r"which row_accounting does not read",
    ],
    ids=["a column less", "a column more", "a place that is none"],
)
def test_core_refuses_a_corpus_that_breaks_its_contract(broken: Broken, message: str) -> None:
    assert [line for line in broken.stderr.splitlines() if re.search(message, line)], broken.stderr


def test_rows_lost_between_two_layers_are_counted_where_they_are_lost(tmp_path: Path) -> None:
    project = copy_clone(tmp_path / "clone")
    for model in (
        f"intermediate/{FIRST}/int_{FIRST}__dialogue_services",
        f"intermediate/{LAST}/int_{LAST}__services",
        "marts/core/dim_services",
    ):
        path = project / f"models/{model}.sql"
        path.write_text(f"select * from (\n{path.read_text(encoding='utf-8')}\n) as kept limit 1\n", encoding="utf-8")
    failed = fail_to_build(project, tmp_path / "warehouse")
    assert re.search(r"test assert_no_row_is_lost: \d+ rows fail, the first: corpus_id=", failed.stderr)
    with duckdb.connect(str(failed.paths.scratch_database), read_only=True) as con:
        lost = con.execute(
            "select corpus_id, entity, published = staged, staged = conformed, conformed = core "
            "from quality.row_accounting where published <> core order by all"
        ).fetchall()
    assert (FIRST, "dialogue_services", True, False, True) in lost
    assert (LAST, "services", True, False, False) in lost or (LAST, "services", True, False, True) in lost
