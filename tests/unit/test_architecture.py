"""Rules of the code as tests: allowed imports, allowed content of a layer, and correct documents."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dialogue_warehouse.corpora import registry, starting
from dialogue_warehouse.paths import CLONE, DBT_PROJECT
from tests.unit.model_sql import plain_sql

CORPORA = registry.corpus_ids()
MODELS = DBT_PROJECT / "models"
VARIABLES = yaml.safe_load((DBT_PROJECT / "dbt_project.yml").read_text(encoding="utf-8"))["vars"]
ENTITIES, STAGED = VARIABLES["corpora"], VARIABLES["staged"]
PACKAGES = ("dialogue_warehouse", "pipelines", "expectations")
PLUMBING = sorted(
    path
    for folder in PACKAGES
    for path in (CLONE / folder).rglob("*.py")
    if "corpora" not in path.relative_to(CLONE).parts
)
SQL = sorted(MODELS.rglob("*.sql"))
ANALYTICS = sorted(path.stem for path in (MODELS / "marts" / "analytics").glob("*.sql"))
"""A query over core may use the result of another one; dbt rejects cycles."""

FLOORS = (
    ("pipelines.definitions",),
    ("pipelines.dagster_graph",),
    ("pipelines.building",),
    ("expectations",),
    ("pipelines.ingestion",),
    ("pipelines.cluster",),
    ("dialogue_warehouse.cli", "dialogue_warehouse.__main__"),
    ("dialogue_warehouse.api",),
    ("dialogue_warehouse.site",),
    ("dialogue_warehouse.terminal",),
    ("dialogue_warehouse.exporting",),
    ("dialogue_warehouse.scoring",),
    ("dialogue_warehouse.lineage",),
    ("dialogue_warehouse.reading",),
    ("dialogue_warehouse.storage",),
    ("dialogue_warehouse.releases",),
    ("dialogue_warehouse.corpora",),
    ("dialogue_warehouse.common",),
    ("dialogue_warehouse.settings",),
    ("dialogue_warehouse.paths",),
    ("dialogue_warehouse.errors",),
    ("dialogue_warehouse.environment",),
)
"""The packages from the top down: an import leads to the same package or to a lower one."""
IMPORTS_WHEN_RUN = "dialogue_warehouse.cli."
"""The commands that build: their functions import `pipelines` and `expectations`, their modules do not."""
PYTHON = sorted(path for folder in PACKAGES for path in (CLONE / folder).rglob("*.py"))


FRONT_DOOR = CLONE / "dialogue_warehouse" / "__init__.py"
"""It imports the public names at their first use, so modules below may be in the same package."""


def test_page_lists_the_packages_in_their_order() -> None:
    page = (CLONE / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = re.findall(
        r"^\| (`(?:pipelines|expectations|dialogue_warehouse)[\w.]*`(?:, `[\w.]+`)*) \|", page, flags=re.M
    )
    names = [name for cell in listed for name in re.findall(r"`([\w.]+)`", cell)]
    full = [f"dialogue_warehouse{name}" if name.startswith(".") else name for name in names]
    assert full == [packages[0] for packages in FLOORS]


def floor_of(module: str) -> int:
    """Return the level of a module."""
    for floor, packages in enumerate(FLOORS):
        if any(module == package or module.startswith(f"{package}.") for package in packages):
            return floor
    raise AssertionError(f"{module} is in no package of the list")


def module_of(path: Path, root: Path = CLONE) -> str:
    """Return the name under which a file is imported."""
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def imports_of(text: str, with_functions: bool = True) -> Iterator[str]:
    """Return the project's modules that a file imports, even for types: only at its top, or in functions as well."""
    tree = ast.parse(text)
    inside = {
        id(node) for function in ast.walk(tree) if isinstance(function, ast.FunctionDef) for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if id(node) in inside and not with_functions:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] in PACKAGES)


def upward_imports(module: str, text: str) -> list[str]:
    """Return the imports of a module that lead up."""
    imports = imports_of(text, with_functions=not module.startswith(IMPORTS_WHEN_RUN))
    return [name for name in imports if floor_of(name) < floor_of(module)]


@pytest.mark.parametrize("path", [path for path in PYTHON if path.name != "__init__.py"], ids=module_of)
def test_imports_lead_down(path: Path) -> None:
    assert upward_imports(module_of(path), path.read_text(encoding="utf-8")) == []


def test_import_that_leads_up_is_found() -> None:
    of_a_function = "def run():\n    from pipelines.building import state\n"
    text = f"from dialogue_warehouse.releases import records\n{of_a_function}"
    assert upward_imports("dialogue_warehouse.reading.query", text) == ["pipelines.building.state"]
    assert upward_imports("dialogue_warehouse.cli.builds", of_a_function) == []
    assert upward_imports("dialogue_warehouse.cli.builds", "from pipelines.building import state\n") != []


def circle_of(imports: dict[str, set[str]]) -> set[str]:
    """Return the modules that import each other, and those that import them; empty without a cycle."""
    while leaves := {name for name, of in imports.items() if not of & imports.keys()}:
        imports = {name: of for name, of in imports.items() if name not in leaves}
    return set(imports)


def test_imports_have_no_cycle() -> None:
    imports = {
        module_of(path): {
            found for name in imports_of(path.read_text(encoding="utf-8")) for found in (name, name.rpartition(".")[0])
        }
        - {module_of(path)}
        for path in PYTHON
        if path != FRONT_DOOR
    }
    assert circle_of(imports) == set()
    assert circle_of({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()}) == {"a", "b", "c"}


@pytest.mark.parametrize("package", sorted({path.parent for path in PYTHON}), ids=lambda package: package.name)
def test_package_describes_its_content(package: Path) -> None:
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
    assert docstring
    if package.parent in (CLONE, CLONE / "pipelines", CLONE / "dialogue_warehouse"):
        assert "What belongs here: " in docstring
        assert "What does not: " in " ".join(docstring.split())


def layer_and_folder(path: Path) -> tuple[str, str]:
    """Return the layer of a model, and its folder there; the rules behind the violations are a separate layer."""
    layer, folder, *below = path.relative_to(MODELS).parts
    return ("rules", below[1]) if below[0] == "rules" else (layer, folder)


HOW_MANY_CORPORA = re.compile(
    r"\b(?:[3-9]|three|four|five|six|seven|eight|nine)\s+(?:\w+\s+){0,2}(?:corpora|releases|publishers)\b"
    r"|\ball\s+(?:three|four|five|six|seven|eight|nine)\b"
    r"|\b(?:fifth|sixth|seventh)\s+corpus\b",
    flags=re.IGNORECASE,
)


def countings(text: str) -> list[str]:
    """Return the phrases of a text that state the number of corpora."""
    return [" ".join(found[0].split()) for found in HOW_MANY_CORPORA.finditer(text)]


@pytest.mark.all_corpora
def test_no_file_outside_the_corpora_says_how_many_corpora_there_are() -> None:
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=CLONE).stdout.splitlines()
    owned = [place.format(corpus_id) for place in starting.PLACES for corpus_id in CORPORA]
    outside = [
        CLONE / name
        for name in listed
        if not name.startswith(tuple(f"{folder}/" for folder in owned))
        and Path(name).suffix not in (".lock", ".parquet", ".png")
    ]
    found = {
        path.relative_to(CLONE).as_posix(): countings(path.read_text(encoding="utf-8"))
        for path in outside
        if path.is_file() and path != Path(__file__)
    }
    assert [line for path, words in found.items() for line in counted(path, words)] == []


def counted(path: str, words: list[str]) -> list[str]:
    """Return a line for each phrase of a shared file that states a number of corpora, with the place for it."""
    return [
        f"{path} says '{phrase}', which the next corpus makes wrong: write 'all' or 'each' corpus. A fact about one corpus "
        "belongs into its folder: the note of a key in schema.py, or claims.toml"
        for phrase in words
    ]


@pytest.mark.parametrize(
    "text",
    ["Five public dialogue corpora", "writes all five releases", "for all\nsix", "a sixth corpus", "the 5 corpora"],
)
def test_counting_of_corpora_is_found(text: str) -> None:
    assert countings(text)
    (line,) = counted("docs/page.md", countings(text))
    assert line.startswith("docs/page.md says '")
    assert line.endswith("the note of a key in schema.py, or claims.toml")
    assert countings("five workers, six files, all corpora, another corpus, one of the releases") == []


@pytest.mark.parametrize("path", PLUMBING, ids=lambda path: path.relative_to(CLONE).as_posix())
def test_plumbing_names_no_corpus(path: Path) -> None:
    text = path.read_text(encoding="utf-8").lower()
    assert [corpus for corpus in CORPORA if re.search(rf"\b{corpus}(?![a-z])", text)] == []


@pytest.mark.parametrize("path", sorted((DBT_PROJECT / "macros").glob("*.sql")), ids=lambda path: path.name)
def test_macros_name_no_corpus(path: Path) -> None:
    text = re.sub(r"{#.*?#}", "", path.read_text(encoding="utf-8"), flags=re.S).lower()
    assert [corpus for corpus in CORPORA if re.search(rf"\b{corpus}", text)] == []


@pytest.mark.parametrize("path", sorted((MODELS / "staging").rglob("*.sql")), ids=lambda path: path.stem)
def test_staging_only_renames_casts_and_unnests(path: Path) -> None:
    text = plain_sql(path.read_text(encoding="utf-8"))
    assert re.findall(r"\b(where|join|distinct|group by|having|qualify|limit|intersect|except)\b", text) == []


@pytest.mark.parametrize("path", sorted((MODELS / "staging").rglob("*.sql")), ids=lambda path: path.stem)
def test_staging_reads_its_own_corpus_and_one_source(path: Path) -> None:
    folder = path.parent.name
    text = path.read_text(encoding="utf-8")
    read = set(re.findall(r"source\('(\w+)', '(\w+)'\)", text)) | {
        ("ref", name) for name in re.findall(r"ref\('(\w+)'\)", text)
    }
    assert len(read) == 1
    kind, name = read.pop()
    assert (kind, name.startswith(f"stg_{folder}__")) == ("ref", True) or kind == f"raw_{folder}"


@pytest.mark.parametrize("path", sorted(MODELS.rglob("*.sql")), ids=lambda path: path.stem)
def test_layers_read_only_earlier_layers(path: Path) -> None:
    layer, folder = layer_and_folder(path)
    allowed = {
        ("staging", folder): ("stg_",),
        ("intermediate", folder): (
            f"stg_{folder}__",
            f"int_{folder}__",
            "stg_landing__corpora",
            "stg_landing__source_files",
        ),
        ("marts", "core"): ("stg_landing__", "fct_"),
        ("marts", "analytics"): ("dim_", "fct_", "source_", "violations", "shared__repeated_texts", *ANALYTICS),
        ("marts", "quality"): ("dim_", "fct_", "source_", "stg_landing__rules", "violations"),
        ("rules", folder): ("dim_", "fct_", "source_", f"{folder}__", "shared__repeated_texts"),
    }[layer, folder]
    names = re.findall(r"ref\('(\w+)'\)", path.read_text(encoding="utf-8"))
    assert [name for name in names if not name.startswith(allowed)] == []
    if layer == "intermediate" and not path.stem.endswith("__accounting"):
        assert "source(" not in path.read_text(encoding="utf-8")


@pytest.mark.all_corpora
def test_model_names_contain_layer_and_folder() -> None:
    for path in SQL:
        layer, folder = layer_and_folder(path)
        expected = {
            "staging": rf"stg_{folder}__\w+",
            "intermediate": rf"int_{folder}__\w+",
            "marts": r"(dim|fct|source)_\w+" if folder == "core" else r"(?!int_|stg_)[a-z_]+",
            "rules": rf"{folder}__\w+",
        }[layer]
        assert re.fullmatch(expected, path.stem), path


@pytest.mark.all_corpora
def test_every_model_is_described_with_its_grain_first() -> None:
    described = {}
    for path in MODELS.rglob("*.yml"):
        for model in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader).get("models", []):
            described[model["name"]] = model
    paths = {path.stem: path for path in SQL}
    assert sorted((set(described) | inheriting()) ^ set(paths)) == []
    assert set(described) & inheriting() == set()
    for name, model in described.items():
        description = model.get("description", "")
        assert description.startswith("One row per "), (
            f"{name}: its description in the YAML must begin with 'One row per'"
        )
        # The columns of staging are described by their names in columns.md, those of the rules by `stack_rules`.
        assert "columns" in model or {"staging", "rules", "intermediate"} & {*paths[name].parts}, name
        assert [column["name"] for column in model.get("columns", []) if not column.get("description")] == [], name
        sql = paths[name].read_text(encoding="utf-8")
        has_all_of_another = re.search(r"^\s*\*,?$", sql.rpartition("\nselect")[2], flags=re.M)
        if {"staging", "intermediate"} & {*paths[name].parts} and not has_all_of_another:
            unknown = {column["name"] for column in model.get("columns", [])} - set(re.findall(r"\w+", sql))
            assert unknown == set(), f"{name}: its YAML describes columns that the model does not name"


def inheriting() -> set[str]:
    """Return the models of the entities of all corpora, which are described elsewhere, once for all of them.

    A conformed model is described by the table that stacks it, the rules of a corpus by the macro `stack_rules`.
    """
    return {
        f"{corpus}__rules" if entity == "rules" else f"int_{corpus}__{entity}"
        for corpus, entities in ENTITIES.items()
        for entity in entities
        if entity not in STAGED.get(corpus, [])
    }


def read_but_not_there(text: str, models: set[str], sources: set[str]) -> list[str]:
    """Return the models and sources that a model reads by name and that do not exist."""
    refs = {name for name in re.findall(r"\bref\('(\w+)'\)", text) if name not in models}
    raw = {f"{source}.{table}" for source, table in re.findall(r"\bsource\('(\w+)', '(\w+)'\)", text)}
    return sorted(refs | (raw - sources))


@pytest.mark.all_corpora
def test_every_referenced_model_and_source_exists() -> None:
    sources = {
        f"{source['name']}.{table['name']}"
        for path in MODELS.rglob("*.yml")
        for source in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader).get("sources", [])
        for table in source["tables"]
    }
    models = {path.stem for path in SQL}
    missing = {path.stem: read_but_not_there(path.read_text(encoding="utf-8"), models, sources) for path in SQL}
    assert {name: lacking for name, lacking in missing.items() if lacking} == {}
    assert read_but_not_there("{{ ref('a') }} {{ ref('b') }} {{ source('raw', 'c') }}", {"a"}, set()) == ["b", "raw.c"]


@pytest.mark.all_corpora
def test_one_definition_per_column_name_and_none_unused() -> None:
    defined = re.findall(r"{% docs (\w+) %}", (MODELS / "columns.md").read_text(encoding="utf-8"))
    used = {
        word for path in (MODELS / "staging").rglob("*.sql") for word in re.findall(r"\w+", path.read_text("utf-8"))
    }
    used &= set(defined)
    for path in MODELS.rglob("*.yml"):
        used |= set(re.findall(r'doc\("(\w+)"\)', path.read_text(encoding="utf-8")))
    assert len(defined) == len(set(defined))
    assert set(defined) == used


@pytest.mark.all_corpora
def test_union_macro_reads_every_conformed_model() -> None:
    assert sorted(ENTITIES) == list(CORPORA)
    staged = {f"stg_{corpus}__{entity}" for corpus, entities in STAGED.items() for entity in entities}
    assert staged <= {path.stem for path in SQL}
    assert all(set(entities) <= set(ENTITIES[corpus]) for corpus, entities in STAGED.items())
    declared = inheriting()
    rules = [path for corpus in CORPORA for path in (MODELS / "marts" / "quality" / "rules" / corpus).glob("*.sql")]
    paths = [*sorted((MODELS / "intermediate").rglob("*__*.sql")), *rules]
    read = {name for path in paths for name in re.findall(r"ref\('(\w+)'\)", path.read_text(encoding="utf-8"))}
    assert declared <= {path.stem for path in paths}
    assert [path.stem for path in paths if path.stem not in declared | read] == []


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_corpus_is_complete(corpus_id: str) -> None:
    assert registry.problems(registry.corpus_folder(corpus_id)) == []


def test_missing_piece_of_a_corpus_is_named(tmp_path: Path) -> None:
    (tmp_path / "schema.py").write_text("")
    assert registry.problems(tmp_path) == [
        f"{tmp_path.name}: {name} is missing" for name in ("source.toml", "claims.toml", "simulate.py", "restore.sql")
    ]


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_every_listed_file_is_an_entity_or_documentation(corpus_id: str) -> None:
    corpus = registry.load_corpus(corpus_id)
    assert corpus.files
    unread = [file.path for file in corpus.files if not (file.is_documentation or corpus.entity_of(file.path))]
    assert unread == [], "source.toml: a file is of an entity of schema.py, or is_documentation"
    for file in corpus.files:
        assert file.sha256 or file.git_blob_sha1, file.path
        assert file.url.startswith("https://"), file.url


def test_front_door_only_assembles() -> None:
    assert len((CLONE / "pipelines" / "definitions.py").read_text(encoding="utf-8").splitlines()) <= 60


LONGEST = {
    ("pipelines", ".py"): 450,
    ("dialogue_warehouse", ".py"): 450,
    ("expectations", ".py"): 450,
    ("tests", ".py"): 500,
    ("dbt_project", ".sql"): 240,
    ("dbt_project", ".yml"): 300,
    ("dialogue_warehouse", ".sql"): 240,
    ("tests", ".sql"): 240,
    ("warehouse/queries", ".sql"): 240,
}
"""Maximum number of lines of a file, by folder and kind.

A file may have more with a reason: `Longer than N lines: <reason>`.
"""
LONGEST_FUNCTION = 60
REASON = re.compile(r"Longer than (\d+) lines: \w+")


def is_too_long(text: str, limit: int) -> bool:
    """Return whether a text has more lines than the limit without giving the reason in its first lines."""
    reason = REASON.search("\n".join(text.splitlines()[:12]))
    return len(text.splitlines()) > limit and not (reason and int(reason[1]) == limit)


@pytest.mark.all_corpora
def test_no_file_is_too_long_to_read() -> None:
    for (folder, suffix), limit in LONGEST.items():
        for path in sorted((CLONE / folder).rglob(f"*{suffix}")):
            if "target" not in path.parts:
                assert not is_too_long(path.read_text(encoding="utf-8"), limit), f"{path}: over {limit} lines"
    assert is_too_long("a\n" * 301, 300)
    assert is_too_long("# Longer than 200 lines: why not\n" * 301, 300)
    assert not is_too_long("# Longer than 300 lines: one entry a file\n" * 301, 300)


def lengths_of_functions(text: str) -> dict[str, int]:
    """Return the number of lines of each function of a module."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    return {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions}


@pytest.mark.all_corpora
def test_no_function_is_too_long_to_read() -> None:
    for path in (*PYTHON, *sorted((CLONE / "tests").rglob("*.py"))):
        lengths = lengths_of_functions(path.read_text(encoding="utf-8"))
        assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}, path
    assert lengths_of_functions("def a():\n    x = 1\n    return x\n") == {"a": 3}


@pytest.mark.all_corpora
def test_no_two_models_are_the_same() -> None:
    texts = [path.read_text(encoding="utf-8") for path in SQL]
    assert len(texts) == len(set(texts))


def test_commands_start_without_the_heavy_libraries() -> None:
    heavy = ("dagster", "dbt", "great_expectations", "pandas", "pyarrow", "duckdb", "sqlalchemy")
    code = "import sys, dialogue_warehouse.cli.main; print([name for name in sys.argv[1:] if name in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True, cwd=CLONE)
    assert output.stdout.strip() == "[]"


PINNED = re.compile(r"^([a-z0-9._-]+)(?:\[[a-z0-9,-]+\])?==(\S+).*\\$", flags=re.M)


def direct_requirements(lock: str) -> list[str]:
    """Return the requirements that a lock was made from."""
    if lock == "requirements-validators.lock":
        lines = (CLONE / "tests" / "validators" / "requirements.txt").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if not line.startswith("#")]
    project = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = {name for name in extras if (name == "spark") == (lock == "requirements-spark.lock")}
    return [*project["dependencies"], *(one for extra in wanted for one in extras[extra])]


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-spark.lock", "requirements-validators.lock"])
def test_lock_names_no_index_and_pins_every_hash(lock: str) -> None:
    text = (CLONE / lock).read_text(encoding="utf-8")
    assert re.findall(r"https?://|--index|--find-links|file:", text) == []
    pins = {name for name, _ in PINNED.findall(text)}
    assert len(PINNED.findall(text)) == len(re.findall(r"^[a-z0-9]", text, flags=re.M))
    for requirement in direct_requirements(lock):
        name = re.match(r"[a-z0-9-]+", requirement, flags=re.I)
        assert name is not None
        assert name[0].lower() in pins


def test_locks_pin_nothing_twice() -> None:
    locks = [(CLONE / name).read_text(encoding="utf-8") for name in ("requirements.lock", "requirements-spark.lock")]
    base, spark = (set(PINNED.findall(text)) for text in locks)
    shared = {name for name, _ in base} & {name for name, _ in spark}
    assert {pin for pin in base if pin[0] in shared} == {pin for pin in spark if pin[0] in shared}


def test_ignored_files_are_made_by_the_warehouse() -> None:
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True, cwd=CLONE).stdout.split()
    assert [
        name
        for name in listed
        if name.startswith("warehouse/")
        and not re.match(r"warehouse/(README|dictionary)\.md$|warehouse/queries/", name)
    ] == []
    assert json.dumps(listed).count(".parquet") == 0
