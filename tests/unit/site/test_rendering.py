"""Templates of HTML: escaped, strict, and compiled once for all processes."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import jinja2
import msgspec
import pytest

from dialogue_warehouse.site import rendering
from tests.unit.dialogues import everything


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


def test_answer_without_votes_is_last() -> None:
    """Regression: the page failed if some answers of a question have votes and others have none."""
    dialogue = everything("x")
    answers = tuple(msgspec.structs.replace(dialogue.answers[0], votes=votes) for votes in (None, 2, 3))
    page = rendering.render_fragment(dataclasses.replace(dialogue, answers=answers))
    assert re.findall(r'<td class="number">(\d*)</td>', page.partition('class="answers"')[2]) == ["3", "2", ""]


@pytest.mark.parametrize("position", [None, -1])
def test_candidates_without_a_target_have_none(position: int | None) -> None:
    """Regression: the page had None, a word of Python, or a position of -1."""
    dialogue = everything("x")
    turn = next(turn for turn in dialogue.turns if turn.candidates)
    list_of = msgspec.structs.replace(turn.candidates[0], target_position=position)
    turn = msgspec.structs.replace(turn, candidates=(list_of,))
    assert "1 candidates, no target<" in rendering.render_fragment(dataclasses.replace(dialogue, turns=(turn,)))
