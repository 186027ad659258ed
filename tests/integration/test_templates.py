"""The code of dbt's templates is kept, and is what dbt would have compiled."""

from __future__ import annotations

import contextlib
import marshal
from pathlib import Path
from typing import Any

import pytest
from dbt_common.clients.jinja import MacroFuzzEnvironment, get_template
from dbt_common.exceptions import CompilationError

from pipelines.building import dbt_changes
from tests.integration.test_contexts import compiled

TEXTS = ("select {{ column }}", "{% set two = column + 1 %}{{ two }}", "plain")


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The templates that were really compiled."""
    seen: list[str] = []
    generate = MacroFuzzEnvironment._generate

    def recorded(environment: Any, source: Any, *arguments: Any, **named: Any) -> str:
        seen.append(type(environment).__name__)
        return generate(environment, source, *arguments, **named)

    monkeypatch.setattr(MacroFuzzEnvironment, "_generate", recorded)
    return seen


def rendered(file: Path, native: bool = False) -> list[Any]:
    with dbt_changes.reuse_templates(file):
        return [get_template(text, {"column": 1}, native=native).render({"column": 1}) for text in TEXTS]


def test_second_time_nothing_is_compiled_and_the_same_comes_of_it(tmp_path: Path, generated: list[str]) -> None:
    file = tmp_path / "of" / "templates.bin"
    first = rendered(file)
    assert first == ["select 1", "2", "plain"]
    assert len(generated) == len(TEXTS)
    assert rendered(file) == first
    assert len(generated) == len(TEXTS)
    native = rendered(file, native=True)  # the same text, and other code
    assert len(generated) == 2 * len(TEXTS)
    assert rendered(file, native=True) == native


def test_code_of_the_whole_project_is_what_dbt_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_dbt: set[bytes] = set()
    compile_by_dbt = MacroFuzzEnvironment.compile

    def recorded(*arguments: Any, **named: Any) -> Any:
        code = compile_by_dbt(*arguments, **named)
        by_dbt.add(marshal.dumps(code))
        return code

    with monkeypatch.context() as patched:
        patched.setattr(MacroFuzzEnvironment, "compile", recorded)
        queries = compiled(tmp_path, contextlib.nullcontext())
    assert len(queries) > 100
    file = tmp_path / "templates.bin"
    for _ in ("compiled", "looked up"):
        assert compiled(tmp_path, dbt_changes.reuse_templates(file)) == queries
    _, kept = marshal.loads(file.read_bytes())
    assert len(kept) > 100
    assert {marshal.dumps(code) for code in kept.values()} <= by_dbt


@pytest.mark.parametrize("content", [b"", b"not marshalled", marshal.dumps(("another version", {"x": 1})), b"\xe3" * 9])
def test_file_that_cannot_be_used_is_made_again(tmp_path: Path, generated: list[str], content: bytes) -> None:
    file = tmp_path / "templates.bin"
    file.write_bytes(content)
    assert rendered(file)[0] == "select 1"
    assert len(generated) == len(TEXTS)
    rendered(file)
    assert len(generated) == len(TEXTS)


def test_place_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert rendered(tmp_path / "file" / "templates.bin")[0] == "select 1"


def test_file_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "templates.bin"
    rendered(file)
    monkeypatch.setattr(dbt_changes, "MOST", len(TEXTS))
    with dbt_changes.reuse_templates(file):
        get_template("another {{ one }}", {}).render({"one": 1})
    assert len(marshal.loads(file.read_bytes())[1]) == 1


def test_error_of_a_template_is_told_as_ever(tmp_path: Path) -> None:
    for _ in range(2):
        with (
            dbt_changes.reuse_templates(tmp_path / "templates.bin"),
            pytest.raises(CompilationError, match="unexpected"),
        ):
            get_template("{{ 1 + }}", {})


def test_dbt_is_itself_again_afterwards(tmp_path: Path) -> None:
    compile_by_dbt = MacroFuzzEnvironment.compile
    with pytest.raises(RuntimeError), dbt_changes.reuse_templates(tmp_path / "templates.bin"):
        assert MacroFuzzEnvironment.compile is not compile_by_dbt
        raise RuntimeError
    assert MacroFuzzEnvironment.compile is compile_by_dbt
