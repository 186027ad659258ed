"""A shell completes the words of the command from the published warehouse; claims and tables fit a narrow terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import retention
from tests.conftest import run_command
from tests.unit.published import make_build


def completed(folder: Path, *words: str) -> list[str]:
    """Return what a shell offers for the last of these words."""
    ended = subprocess.run(
        [Path(sys.executable).with_name("dialogue-warehouse")],
        env=os.environ
        | {
            "_DIALOGUE_WAREHOUSE_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(("dialogue-warehouse", *words)),
            "COMP_CWORD": str(len(words)),
            "DIALOGUE_WAREHOUSE": str(folder),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return [line.partition(",")[2] for line in ended.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("describe", "fct_s"), ["fct_service_calls", "fct_service_results", "fct_slots"]),
        (("describe", "core.fct_sl"), ["core.fct_slots"]),
        (("claims", "--corpora", "s"), ["sgd"]),
        (("claims", "--corpora", "sgd,bb"), ["sgd,bbai"]),
        (("export", "--corpora", "m"), ["mutualfriends"]),
        (("restore", "--corpus", "ab"), ["abcd"]),
        (("score", "--corpus", "t"), ["taskmaster1"]),
        (("violations", "--rule", "double"), ["double_blank"]),
        (("claims", "--claim", "S08b"), ["S08b"]),
        (("check-corpus", "bb"), ["bbai"]),
        (("show", "sgd/train/1_00000"), ["sgd/train/1_00000"]),
    ],
)
def test_shell_completes_names(sample_folder: Path, words: tuple[str, ...], expected: list[str]) -> None:
    assert completed(sample_folder, *words) == expected


def test_build_without_the_table_of_the_names_offers_none(tmp_path: Path) -> None:
    """Regression: Tab wrote an internal error into the line, also for a table that is damaged."""
    make_build(WarehousePaths(tmp_path))
    assert completed(tmp_path, "claims", "--claim", "S") == completed(tmp_path, "show", "sgd") == []


def test_shell_completes_keys_and_builds(sample_folder: Path) -> None:
    keys = completed(sample_folder, "trace", "sgd/t")
    assert len(keys) > 10 and all(key.startswith("sgd/t") for key in keys)
    kept = retention.kept_builds(WarehousePaths(sample_folder))
    assert completed(sample_folder, "rollback", "") == completed(sample_folder, "diff", "") == kept[::-1]


@pytest.mark.parametrize(
    "words",
    [("describe", ""), ("show", "sgd"), ("violations", "--rule", ""), ("claims", "--claim", ""), ("rollback", "")],
)
def test_nothing_is_completed_without_a_warehouse(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert completed(tmp_path / "none", *words) == []
    assert completed(tmp_path, words[0], "--warehouse", "http://127.0.0.1:9/a.duckdb", *words[1:]) == []


def test_lists_fit_a_narrow_terminal(sample_folder: Path) -> None:
    """A line for each table, claim and rule: none is folded or shown vertically."""
    for command in (("tables",), ("claims",), ("violations", "--rules")):
        ended = run_command(*command, "--warehouse", sample_folder, COLUMNS="80")
        lines = [line for line in ended.stdout.splitlines() if line.strip()]
        assert max(map(len, lines)) <= 80
        assert not [line for line in lines if line.startswith("── row")]
        more = run_command(*command, "--verbose", "--warehouse", sample_folder, COLUMNS="80").stdout.splitlines()
        assert len(more) > len(lines)


def test_claims_say_why_they_find_none(sample_folder: Path) -> None:
    ended = run_command("claims", "--verdict", "refuted", "--warehouse", sample_folder)
    assert ended.returncode == 0
    assert ended.stderr.startswith("no such claim; the verdicts are ")
    assert ended.stderr.endswith("; the data are generated: only a real release can refute its documents\n")
    assert run_command("claims", "--verdict", "reproduced", "--warehouse", sample_folder).stderr == ""
    listed = run_command("claims", "--verdict", "refuted", "--json", "--warehouse", sample_folder)
    assert listed.stdout == "[]\n"


def test_publishers_id_of_a_dialogue_leads_to_its_keys(sample_folder: Path) -> None:
    ended = run_command("show", "1_00000", "--warehouse", sample_folder)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: no row has the key '1_00000'; it is the publisher's id of 'sgd/")
