"""A corpus is added to a copy of the clone, only in the places that docs/add_a_corpus.md names, and all checks pass.

The corpus is the one that `new-corpus` writes, docs/small_corpus under another name: dialogues with turns, splits and
two claims. If one piece is left out, the fastest check that can notice it names the
missing piece.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from dialogue_warehouse.corpora import registry, starting
from dialogue_warehouse.paths import CLONE, DBT_LAST_PARSE
from tests import fixtures

NAME = "zeppelin"
"""It comes after all other corpora. No test has it in its name, so that `pytest --corpus` selects none of this module."""
PAGE = (CLONE / "docs" / "add_a_corpus.md").read_text(encoding="utf-8")
FOLDER, STAGING, CONFORMED, _, FIXTURES = (place.format(NAME) for place in starting.PLACES)
MOST_FILES, MOST_LINES = 20, 450
"""Size of the smallest corpus: what everybody who adds a corpus must write."""
PYTEST = ("-m", "pytest", "-n", "0")
"""Run in one process: the tests that run this already use all processors."""
IN_ONE_PROCESS = {"PYTEST_ADDOPTS": " ".join(PYTEST[2:])}
"""Variable for a command that starts pytest: each further process would collect all tests by itself."""
AT_FIRST = {"PYTEST_ADDOPTS": "--exitfirst"}
"""Variable for a command that starts pytest: it ends with the first test that fails."""
LAWS = (*PYTEST, "tests/unit/test_architecture.py", "-k", "conformed_model")
CHECK = ("-m", "dialogue_warehouse", "check-corpus", NAME, "--no-tests")
NO_TEST = {"PYTEST_ADDOPTS": "--markers"}
"""Variable for a command that starts pytest: it prints its markers and runs no test."""
BUILT = "../with_the_corpus"
"""The warehouse of the copy with the corpus: beside it, because checks read every file of the copy."""
BUILD = ("-m", "dialogue_warehouse", "build", "--corpora", NAME, "--warehouse", BUILT)
SHAPES = (*PYTEST, "tests/unit/test_fixtures.py", "-k", f"complete and {NAME}")
PROBLEMS = ("-c", f"from tests import fixtures; raise SystemExit('; '.join(fixtures.problems('{NAME}')))")
SIMULATE = ("-m", "dialogue_warehouse", "simulate", "--to", "generated", "--corpora", NAME)
WRITTEN = {"README.md": "tests.readme", "warehouse/dictionary.md": "dialogue_warehouse.reading.descriptions"}
"""Maps a file that has something of every corpus to the module that writes it."""
MISSING = {
    **{f"{FOLDER}/{name}": (SIMULATE, f"{NAME}: {name} is missing") for name in registry.REQUIRED_FILES},
    **{f"{FIXTURES}/{name}": (PROBLEMS, f"{FIXTURES}/{name} is missing") for name in fixtures.PIECES},
    f"{STAGING}/stg_{NAME}__turns.sql": (CHECK, f"stg_{NAME}__turns"),
    f"{STAGING}/_{NAME}__models.yml": (CHECK, f"stg_{NAME}__turns"),
    f"{STAGING}/_{NAME}__sources.yml": (CHECK, f"raw_{NAME}"),
    f"{CONFORMED}/int_{NAME}__turns.sql": (
        BUILD,
        f"error: {NAME}: vars.corpora in {starting.PROJECT} lists the entity turns, but its model is missing: write "
        f"{CONFORMED}/int_{NAME}__turns.sql, or remove the entity\n",
    ),
}
"""Maps a piece to the first check that notices its absence, and the message."""
NAMED_BY_FILES = {piece for piece in MISSING if not re.search(r"\.yml$|/stg_", piece)}
"""The pieces that `check-corpus` names before it runs tests."""


def run(clone: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy, which precedes the installed clone on its path."""
    ours = ("DIALOGUE_", "PYTHONDONTWRITEBYTECODE")  # each of many processes would compile the copy by itself
    settings = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=clone,
        env=settings | variables | {"PYTHONPATH": str(clone)},
        check=False,
    )


def changes(clone: Path) -> dict[str, str]:
    """Map each path that differs from the commit, and is not ignored, to git's mark: `M` for changed, `??` for new."""
    command = ["git", "status", "--porcelain", "--untracked-files=all"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, cwd=clone).stdout.splitlines()
    return {line[3:]: line[:2].strip() for line in lines}


def copy_compiled(source: str, target: str) -> None:
    """Copy a compiled module, unless another process removes it meanwhile."""
    with suppress(FileNotFoundError):
        shutil.copy2(source, target)


def copy_clone(copy: Path) -> Path:
    """Copy the clone as git has it, including changes that are not committed.

    The modules that Python has compiled are copied too, and the project that dbt has parsed: both take seconds.
    """
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True, cwd=CLONE).stdout.splitlines()
    for name in (*names, *(path.relative_to(CLONE) for path in DBT_LAST_PARSE.parent.glob(f"{DBT_LAST_PARSE.stem}.*"))):
        if (CLONE / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CLONE / name, copy / name)
    for folder in {(CLONE / name).parent / "__pycache__" for name in names if name.endswith(".py")}:
        if folder.is_dir():
            shutil.copytree(folder, copy / folder.relative_to(CLONE), copy_function=copy_compiled)
    subprocess.run(["git", "init", "--quiet"], check=True, cwd=copy)
    subprocess.run(["git", "add", "--all"], check=True, cwd=copy)
    author = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    subprocess.run(["git", *author, "commit", "--quiet", "--message", "Copy"], check=True, cwd=copy)
    imported = run(copy, "-c", "import pipelines, tests; print(pipelines.__file__, tests.__file__)").stdout
    assert imported.split() == [f"{copy}/pipelines/__init__.py", f"{copy}/tests/__init__.py"]
    return copy


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the clone."""
    return copy_clone(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def clone(untouched: Path) -> Path:
    """Return the copy with the additional corpus."""
    started = run(untouched, "-m", "dialogue_warehouse", "new-corpus", NAME)
    assert started.returncode == 0, started.stderr
    for module in WRITTEN.values():
        written = run(untouched, "-m", module)
        assert written.returncode == 0, written.stderr
    built = run(untouched, *BUILD)
    assert built.returncode == 0, built.stderr
    written = run(untouched, "-m", "tests.exports_page", BUILT)
    assert written.returncode == 0, written.stderr
    found = changes(untouched)
    changed = {name for name, mark in found.items() if mark == "M"}
    assert changed == {starting.PROJECT, "docs/what_exports_keep.md", *WRITTEN}
    folders = tuple(f"{place.format(NAME)}/" for place in starting.PLACES)
    new = found.keys() - changed
    assert new
    assert [name for name in new if not name.startswith(folders)] == []
    return untouched


@contextmanager
def without(path: Path) -> Iterator[None]:
    """Remove a piece inside the context."""
    aside = path.with_name(f".{path.name}.aside")
    path.rename(aside)
    try:
        yield
    finally:
        aside.rename(path)


def test_page_names_every_place() -> None:
    for place in starting.PLACES:
        assert f"{place.format('<corpus>').removeprefix('dbt_project/models/')}/`" in PAGE, place
    assert starting.PROJECT in PAGE
    assert [piece for piece in registry.REQUIRED_FILES if f"| `{piece}` |" not in PAGE] == []
    commands = re.findall(r"dialogue-warehouse ([a-z-]+)", PAGE)
    assert {"new-corpus", "build", "claims"} <= set(commands)


def test_smallest_corpus_is_small(clone: Path) -> None:
    """Its pieces, and the line in the project's file."""
    files = [path for place in starting.PLACES for path in (clone / place.format(NAME)).rglob("*") if path.is_file()]
    texts = [path.read_text(encoding="utf-8") for path in files if path.suffix != ".pyc"]
    assert len(texts) + 1 <= MOST_FILES
    assert sum(len(text.splitlines()) for text in texts) + 1 <= MOST_LINES


def steps(output: str) -> dict[str, str]:
    """Return the result of each step that `check-corpus` reports, in order."""
    return dict(re.findall(r"^([a-zA-Z]+) +(ok|[0-9]+ to do|failed)", output, flags=re.M))


def test_every_check_of_the_corpus_passes_and_only_the_copied_text_is_left_to_do(clone: Path, tmp_path: Path) -> None:
    """All tests of the corpus run, none is deselected: it is built from the sample, its own releases and at scale 1.

    There are real data, but none of this corpus.
    """
    checked = run(
        clone, "-m", "dialogue_warehouse", "check-corpus", NAME, DIALOGUE_CORPORA=str(tmp_path), **IN_ONE_PROCESS
    )
    found = steps(checked.stdout)
    assert list(found) == [
        "files",
        "agreement",
        "texts",
        "fixtures",
        "documents",
        "README",
        "dictionary",
        "rules",
        "tests",
    ]
    assert found.pop("texts").endswith(" to do"), checked.stdout
    assert found.pop("documents") == "1 to do"
    assert set(found.values()) == {"ok"}, checked.stdout[-4000:]
    quickly, slowly = map(int, re.findall(r"(\d+) passed", checked.stdout))
    assert quickly > 50
    assert slowly > 70
    assert checked.returncode == 1
    for piece in ("claims.toml", "source.toml", "schema.py", "simulate.py"):
        assert f"  {FOLDER}/{piece}:1: text of hotline" in checked.stdout


def test_tests_that_compare_all_corpora_pass(clone: Path, tmp_path: Path) -> None:
    """They know the answers for some corpora only, and must not expect one of the new corpus.

    The real data are left out: there are none of the new corpus.
    """
    modules = ("test_analytics", "test_analyst_queries", "test_dictionary")
    of_all = [*(f"tests/integration/{module}.py" for module in modules), "tests/unit/expectations/test_audit.py"]
    checked = run(clone, *PYTEST, *of_all, "tests/unit/test_documents.py", DIALOGUE_CORPORA=str(tmp_path / "none"))
    assert checked.returncode == 0, checked.stdout[-4000:]


def test_stale_tables_and_missing_documents_are_named(clone: Path, tmp_path: Path) -> None:
    for name, module in WRITTEN.items():
        written = clone / name
        text = written.read_text(encoding="utf-8")
        written.write_text("\n".join(line for line in text.splitlines() if NAME not in line) + "\n", encoding="utf-8")
        if name == "README.md":
            assert f"run `python -m {module}`" in check(clone)
        else:
            assert f"{name} is stale: run `python -m {module}`" in check(clone)
        written.write_text(text, encoding="utf-8")
    document = f"documents{' ' * 3}1 to do\n  {tmp_path}/{NAME}_readme.md is missing"
    assert document in check(clone, DIALOGUE_DOCUMENTS=str(tmp_path))
    (tmp_path / f"{NAME}_readme.md").write_text("Every call begins.", encoding="utf-8")
    assert "documents   ok\n" in check(clone, DIALOGUE_DOCUMENTS=str(tmp_path))


@pytest.mark.parametrize(
    ("piece", "text", "named"),
    [
        (
            f"{FOLDER}/schema.py",
            "unknown_name\n",
            f"  {NAME}/schema.py cannot be loaded: NameError: name 'unknown_name'",
        ),
        (f"{FOLDER}/claims.toml", "[[claims]]\n", f"  {NAME}/claims.toml (no id): Object missing required field"),
        (
            f"{FIXTURES}/traces.py",
            "unknown_name\n",
            f"error: {NAME}: the pieces of {FIXTURES} cannot be read: NameError",
        ),
        (f"{FOLDER}/simulate.py", '"""Not closed.\n', "fixtures    ok\n"),
    ],
    ids=["schema", "claims", "fixture", "text that is not closed"],
)
def test_piece_that_cannot_be_read_is_named_in_one_line(clone: Path, piece: str, text: str, named: str) -> None:
    before = (clone / piece).read_text(encoding="utf-8")
    (clone / piece).write_text(before + text, encoding="utf-8")
    try:
        checked = run(clone, *CHECK)
    finally:
        (clone / piece).write_text(before, encoding="utf-8")
    assert checked.returncode == 1
    assert named in checked.stdout + checked.stderr
    assert "Traceback" not in checked.stdout + checked.stderr


def test_corpus_that_does_not_exist_is_refused(clone: Path) -> None:
    refused = run(clone, "-m", "dialogue_warehouse", "check-corpus", "absent")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("error: absent: no such corpus; there are ")


def check(clone: Path, **variables: str) -> str:
    """Return what `check-corpus` reports of the new corpus before it runs tests."""
    return run(clone, *CHECK, **NO_TEST, **variables).stdout


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the clone in which each corpus has a copy."""
    copy = copy_clone(tmp_path_factory.mktemp("copies"))
    for corpus_id in registry.corpus_ids():
        started = run(copy, "-m", "dialogue_warehouse", "new-corpus", f"like{corpus_id}", "--like", corpus_id)
        assert started.returncode == 0, started.stderr
    return copy


def test_copy_of_each_corpus_follows_the_rules_of_the_code(copies: Path) -> None:
    """Regression: a model that a copy reads by another name was taken for one that nothing reads."""
    laws = ("architecture", "fixtures", "rules", "models_are_proven")
    checked = run(copies, *PYTEST, *(f"tests/unit/test_{law}.py" for law in laws))
    assert checked.returncode == 0, checked.stdout[-4000:]


def test_copy_of_each_corpus_can_be_built_with_it(copies: Path) -> None:
    """Another corpus may have everything that a corpus has: no key, claim, rule or restoration confuses the two.

    Both have the same release, in which each rule is broken: each verdict, violation and restoration is the same.
    """
    copy, corpora = copies, registry.corpus_ids()
    write = "from pathlib import Path; from tests.integration import defective_release as it; it.write(Path('broken'))"
    assert run(copy, "-c", write).returncode == 0
    command = ("-m", "dialogue_warehouse", "build", "--verify", "--source", "broken", "--warehouse", "warehouse")
    built = run(copy, *command)
    assert built.returncode == 0, built.stderr
    counts = "select corpus_id, count(*) as files from core.dim_source_files group by corpus_id order by corpus_id"
    reported = run(copy, "-m", "dialogue_warehouse", "sql", "--json", "--warehouse", "warehouse", counts).stdout
    files = {row["corpus_id"]: row["files"] for row in json.loads(reported)}
    assert files.keys() == {*corpora, *(f"like{corpus_id}" for corpus_id in corpora)}
    assert all(files[f"like{corpus_id}"] == files[corpus_id] > 0 for corpus_id in corpora)
    claims = json.loads(run(copy, "-m", "dialogue_warehouse", "claims", "--json", "--warehouse", "warehouse").stdout)
    judged = {claim["claim_id"]: [claim[name] for name in ("verdict", "observed", "rows_tested")] for claim in claims}
    corpus_of = {claim["claim_id"]: claim["corpus_id"] for claim in claims if claim["corpus_id"] in corpora}
    assert {verdict for verdict, _, _ in judged.values()} >= {"reproduced", "refuted"}
    assert {claim_id: judged[f"like{corpus_id}_{claim_id}"] for claim_id, corpus_id in corpus_of.items()} == {
        claim_id: judged[claim_id] for claim_id in corpus_of
    }
    broken = "select corpus_id, rule_id, count(*) as rows from quality.violations group by all"
    reported = run(copy, "-m", "dialogue_warehouse", "sql", "--json", "--warehouse", "warehouse", broken).stdout
    rows = {(row["corpus_id"], row["rule_id"]): row["rows"] for row in json.loads(reported)}
    own = {(corpus_id, rule): count for (corpus_id, rule), count in rows.items() if corpus_id in corpora}
    assert ("sgd", "missing_result_slot") in own
    assert {(f"like{corpus_id}", rule): count for (corpus_id, rule), count in own.items()} == {
        key: count for key, count in rows.items() if key not in own
    }


def test_lint_passes(clone: Path) -> None:
    """The whole copy for ruff; ty checks the code of the new corpus, and `make lint` all other code."""
    rules, form = ("-m", "ruff", "check", "."), ("-m", "ruff", "format", "--check", ".")
    for command in (rules, form, ("-m", "ty", "check", FOLDER)):
        linted = run(clone, *command)
        assert linted.returncode == 0, linted.stdout + linted.stderr
    places = [clone / place.format(NAME) for place in starting.PLACES]
    files = [str(path) for place in places for path in place.rglob("*") if path.suffix in (".sql", ".toml")]
    linted = run(clone, "-m", "tests.lint", *files)
    assert (linted.returncode, linted.stdout) == (0, ""), linted.stderr


@pytest.mark.parametrize("piece", MISSING, ids=lambda piece: piece.replace(NAME, "new"))
def test_missing_piece_is_named(clone: Path, piece: str) -> None:
    command, named = MISSING[piece]
    with without(clone / piece):
        checked = run(clone, *command, **AT_FIRST)
    assert checked.returncode != 0
    assert named in checked.stdout + checked.stderr


@pytest.mark.parametrize("of_tests", [False, True], ids=["corpus", "fixtures"])
def test_check_names_all_missing_pieces_at_once(clone: Path, of_tests: bool) -> None:
    """Those of the tests only if the others are there."""
    missing = [piece for piece in NAMED_BY_FILES if piece.startswith(FIXTURES) == of_tests]
    assert len(missing) > 3
    with ExitStack() as removed:
        for piece in missing:
            removed.enter_context(without(clone / piece))
        checked = check(clone)
    assert [piece for piece in missing if f"  {piece} is missing\n" not in checked] == []
    assert checked.count(" is missing\n") == len(missing)


def test_missing_entry_is_named(clone: Path) -> None:
    project = clone / starting.PROJECT
    text = project.read_text(encoding="utf-8")
    project.write_text(re.sub(rf"^    {NAME}: .*\n", "", text, flags=re.M), encoding="utf-8")
    try:
        checked = run(clone, *LAWS)
    finally:
        project.write_text(text, encoding="utf-8")
    assert checked.returncode != 0
    assert "FAILED tests/unit/test_architecture.py::test_union_macro_reads_every_conformed_model" in checked.stdout
    assert f"'{NAME}'" in checked.stdout


def test_missing_name_of_a_piece_and_claim_without_a_twin_are_named(clone: Path) -> None:
    traces, twins = clone / FIXTURES / "traces.py", clone / FIXTURES / "twins.py"
    texts = traces.read_text(encoding="utf-8"), twins.read_text(encoding="utf-8")
    traces.write_text(texts[0].replace("AGREES", "FITS"), encoding="utf-8")
    twins.write_text("", encoding="utf-8")
    try:
        shapes = run(clone, *SHAPES)
        claims = run(clone, *PYTEST, "tests/contract/test_claims_have_failing_twins.py", "-k", "has_a_twin")
    finally:
        traces.write_text(texts[0], encoding="utf-8")
        twins.write_text(texts[1], encoding="utf-8")
    assert f"{FIXTURES}/traces.py has no AGREES" in shapes.stdout
    assert f"{NAME}_H02" in claims.stdout
