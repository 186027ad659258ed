"""Jinja environments for the pages, and one dialogue as HTML.

Compiled templates are cached, because those of the report take 0.2 s to compile.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import functools
import hashlib
import importlib.metadata
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import markupsafe
from jinja2.bccache import Bucket

from dialogue_warehouse.errors import counted
from dialogue_warehouse.paths import DBT_LAST_PARSE
from dialogue_warehouse.reading import dialogue_parts
from dialogue_warehouse.reading.dialogue_parts import GENERATED, cut


class _Compiled(jinja2.FileSystemBytecodeCache):
    """Compiled code by template and text, in a folder for this Jinja version; no cache if it cannot be written."""

    def __init__(self) -> None:
        folder = DBT_LAST_PARSE.with_name(f"jinja2-{importlib.metadata.version('jinja2')}")
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        super().__init__(str(folder))

    def load_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):  # for example, a part of the path is not a folder
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def environment(folder: Path, **filters: Callable[..., Any]) -> jinja2.Environment:
    """Return an environment for the templates of a folder, with these filters besides Jinja's own."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_Compiled(),
    )
    made.filters.update(filters)
    return made


TEMPLATES = Path(__file__).with_name("templates")
STEERING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters except line ends, and direction embeddings and overrides; right-to-left text needs none."""
CHANGES = {"added": "+", "changed": "~", "dropped": "-", "carried": ""}
"""Sign of a slot by the change that a turn made to it."""


def render_page(dialogue: dialogue_parts.Dialogue) -> str:
    """Return a whole page. Its content security policy allows only its own style, by hash."""
    css = style()
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return _environment().get_template("page.html").render(**_values(dialogue), css=css, digest=digest)


def render_fragment(dialogue: dialogue_parts.Dialogue, at: str = "turn", rules: str = "") -> str:
    """Return the dialogue alone as an `article`; it needs the style sheet of `style`.

    `at` is the beginning of the anchors of its turns, and `rules` that of the URL of a rule, if rules have one.
    """
    return _environment().get_template("dialogue.html").render(_values(dialogue) | {"at": at, "rules": rules})


def style() -> str:
    """Return the style sheet; its rules apply only inside the dialogue."""
    return (TEMPLATES / "dialogue.css").read_text(encoding="utf-8")


def render_summary(place: str, build_id: str, corpora: Sequence[Any], verdicts: Mapping[str, int]) -> str:
    """Return a short summary of a warehouse: its corpora with their numbers, and its claims by verdict."""
    values = {"place": place, "build_id": build_id, "corpora": corpora, "verdicts": verdicts}
    return _environment().get_template("summary.html").render(values)


def render_rows(caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]], below: str = "") -> str:
    """Return rows as a table, with a text above and one below it."""
    values = {"caption": caption, "headings": headings, "rows": rows, "below": below}
    return _environment().get_template("rows.html").render(values)


@functools.cache
def _environment() -> jinja2.Environment:
    return environment(TEMPLATES, counted=counted, text=text_of, harmless=harmless, moment=moment)


def _values(dialogue: dialogue_parts.Dialogue) -> dict[str, Any]:
    return {
        "dialogue": dialogue,
        "at": "turn",
        "rules": "",
        "shown": dialogue.mark.shown_key if dialogue.mark else None,
        "sides": sides(dialogue.turns),
        "changes": CHANGES,
        "cut": cut,
        "generated": GENERATED,
        "reward": dialogue_parts.rewards(dialogue),
        "words": dialogue_parts.words_of(dialogue),
        "verdict": dialogue_parts.verdict,
        "by_votes": dialogue_parts.by_votes,
        "target_of": dialogue_parts.target_of,
    }


_OPEN, _CLOSE = markupsafe.Markup('<bdi dir="auto">'), markupsafe.Markup("</bdi>")


def text_of(value: object) -> markupsafe.Markup:
    """Return a text of a corpus, escaped and in its own direction; NULL for None."""
    if value is None:
        return markupsafe.Markup('<span class="null">NULL</span>')
    return _OPEN + harmless(str(value)) + _CLOSE  # which escapes the text; `format` takes twice as long


def moment(value: datetime.datetime | str) -> str:
    """Return a time in the form of ISO 8601, to the second."""
    text = value if isinstance(value, str) else value.isoformat(" ")
    return text.partition(".")[0].replace(" ", "T")


def harmless(text: str) -> str:
    """Escape characters that would control the display, except line ends."""
    return STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def sides(turns: Sequence[dialogue_parts.Turn]) -> dict[tuple[str, str | None], str]:
    """Return the side of each speaker: users left, systems right, others alternating in speaking order."""
    found: dict[tuple[str, str | None], str] = {}
    for turn in turns:
        others = sum(role not in ("user", "system") for role, _ in found)
        side = {"user": "left", "system": "right"}.get(turn.role) or ("left", "right")[others % 2]
        found.setdefault((turn.role, turn.speaker), side)
    return found
