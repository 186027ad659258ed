"""Templates of HTML: escaped, strict, and compiled once for all processes."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest

from dialogue_warehouse.site import rendering


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for compiled code, instead of the one of dbt's last parse; it does not exist yet."""
    monkeypatch.setattr(rendering, "DBT_LAST_PARSE", tmp_path / "kept" / "partial_parse.msgpack")
    return tmp_path / "kept"


def rendered(folder: Path, text: str, **values: object) -> str:
    (folder / "a.html").write_text(text, encoding="utf-8")
    return rendering.environment(folder, twice=lambda value: value * 2).get_template("a.html").render(**values)


def test_values_are_escaped_and_a_missing_value_is_an_error(kept: Path, tmp_path: Path) -> None:
    assert rendered(tmp_path, "{{ a | twice }}", a="<&>") == "&lt;&amp;&gt;&lt;&amp;&gt;"
    with pytest.raises(jinja2.UndefinedError):
        rendered(tmp_path, "{{ b }}", a=1)


def test_template_is_compiled_once_for_all_processes(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rendered(tmp_path, "{{ a }}", a=1) == "1"
    assert len(list(kept.glob("*/*.cache"))) == 1
    monkeypatch.setattr(jinja2.Environment, "_compile", None)
    assert rendered(tmp_path, "{{ a }}", a=2) == "2"
    with pytest.raises(TypeError):
        rendered(tmp_path, "{{ a }}, which is another text", a=2)


def test_nothing_is_cached_if_nothing_can_be_written(kept: Path, tmp_path: Path) -> None:
    kept.write_text("no folder")
    assert rendered(tmp_path, "{{ a }}", a=1) == "1"
    assert kept.read_text() == "no folder"


def test_cached_template_that_is_not_code_is_compiled_again(kept: Path, tmp_path: Path) -> None:
    rendered(tmp_path, "{{ a }}", a=1)
    (file,) = kept.glob("*/*.cache")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert rendered(tmp_path, "{{ a }}", a=3) == "3"
    assert file.read_bytes() == whole
