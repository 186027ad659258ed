"""Builds of odd sources, and of sources that change during the build: messages, restored files, and memory."""

from __future__ import annotations

import gzip
import resource
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Container, Corpus, Entity
from tests.conftest import CLONE, rows

ADDRESS_SPACE = 4 * 2**30
DEEP = "[" * 5000 + "]" * 5000
ODD_VALUES = ("1e400", "9" * 5000, DEEP, r'"\ud83d"', r'{"\udc00": 1, "\udc00": 2}')
"""Values put among the records of every file."""


def odd_text(entity: Entity, text: str) -> str:
    """Return the text of a file with odd records at its start, which readers do not preserve.

    If the file is an object, the text also has equal keys.
    """
    match entity.container:
        case Container.ARRAY:
            return text.replace("[", f"[{', '.join(ODD_VALUES)}, ", 1)
        case Container.ENTRIES:
            odd = "".join(rf'"\ud83d{index}": {value}, ' for index, value in enumerate(ODD_VALUES))
            return text.replace("{", f'{{{odd}"twice": 7, "twice": {DEEP}, "twice": [], ', 1)
        case Container.SPLITS:
            return text.replace("[", f"[{', '.join(ODD_VALUES)}, ", 1)
        case _:
            return text


def odd_files(releases: Path, folder: Path) -> dict[str, int]:
    """Write the releases with odd records in every file of several; return their number, by file."""
    counts = {}
    for corpus in registry.load_corpora():
        for entity, path in files_with_records(corpus, releases):
            data = (releases / corpus.corpus_id / path).read_bytes()
            text = odd_text(entity, (gzip.decompress(data) if path.endswith(".gz") else data).decode())
            written = gzip.compress(text.encode()) + b"\0" if path.endswith(".gz") else f"\ufeff{text}".encode()
            (folder / corpus.corpus_id / path).write_bytes(written)
            more = 3 if entity.container is Container.ENTRIES else 0
            counts[f"{corpus.corpus_id}/{path}"] = len(ODD_VALUES) + more
    return counts


def files_with_records(corpus: Corpus, releases: Path) -> list[tuple[Entity, str]]:
    folder = releases / corpus.corpus_id
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    found = [(corpus.entity_of(path), path) for path in paths]
    several = (Container.ARRAY, Container.ENTRIES, Container.SPLITS)
    return [(entity, path) for entity, path in found if entity and entity.container in several]


@pytest.fixture(scope="module")
def odd_releases(awkward_releases: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """Return the hand-written releases with odd records at the start of every file, and the number of these records."""
    folder = tmp_path_factory.mktemp("odd")
    shutil.copytree(awkward_releases, folder, dirs_exist_ok=True)
    return folder, odd_files(awkward_releases, folder)


def test_odd_records_abort_no_build_and_come_back_within_4_gb_of_address_space(
    awkward_releases: Path, odd_releases: tuple[Path, dict[str, int]], tmp_path: Path
) -> None:
    """Every file has records that readers do not preserve; no file is refused, and all are restored.

    Regression: every build requested 16 GiB at once, which a machine with less memory and swap refuses.
    """
    source, added = odd_releases
    assert any(path.endswith(".gz") for path in added)
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "dialogue_warehouse",
            "build",
            "--verify",
            "--source",
            source,
            "--warehouse",
            tmp_path,
        ],
        capture_output=True,
        text=True,
        cwd=CLONE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE)),
        check=False,
    )
    assert built.returncode == 0, built.stderr
    with duckdb.connect(str(tmp_path / "dialogues.duckdb"), read_only=True) as con:
        refused = rows(con, "select source_file_id, record_index from core.source_quarantine")
        assert Counter(name for name, index in refused if index < added.get(name, 0)) == added
        assert rows(con, "select count(*) from quality.restorations where not is_equal") == [(0,)]
        assert rows(con, "select count(*) from quality.restorations")[0][0] >= len(added)
    for name in added:
        reported = "a byte-order mark at its beginning" if name.endswith(".json") else "1 zero byte after the archive"
        assert f"notice: {name}: skipped {reported}\n" in built.stdout


def test_file_that_changes_during_a_build_is_reported(awkward_releases: Path, tmp_path: Path) -> None:
    """One file is deleted and one replaced after they were landed. Regression: the build only returned status 0."""
    source = tmp_path / "source"
    shutil.copytree(awkward_releases, source)
    corpus = registry.load_corpora()[0]
    (_, gone), (_, other), *_ = files_with_records(corpus, source)
    program = (
        "import sys, pathlib\n"
        "from pipelines.building import publishing\n"
        "from pipelines.ingestion import raw_layer\n"
        "from dialogue_warehouse.cli.main import run\n"
        "write_catalog = raw_layer.write_catalog\n"
        "def write_and_change(*arguments):\n"
        f"    pathlib.Path({str(source / corpus.corpus_id / gone)!r}).unlink()\n"
        f"    pathlib.Path({str(source / corpus.corpus_id / other)!r}).write_text('')\n"
        "    return write_catalog(*arguments)\n"
        "raw_layer.write_catalog = write_and_change\n"
        "run()\n"
    )
    arguments = ["build", "--source", source, "--warehouse", tmp_path / "wh", "--corpora", corpus.corpus_id]
    built = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, cwd=CLONE, check=False
    )
    assert built.returncode == 0, built.stderr
    identity = f"notice: {corpus.corpus_id}/"
    assert f"{identity}{gone}: removed after it was read; the build contains the old file\n" in built.stdout
    assert f"{identity}{other}: changed after it was read; the build contains the old file: " in built.stdout
