"""A dialogue as HTML: a page of its own that loads nothing and runs nothing, or the part of it that another page shows.

Every text is escaped and stands apart from the direction of its surroundings; control characters, and what would turn
directions over, are written out.
"""

from __future__ import annotations

import base64
import datetime
import functools
import hashlib
import re
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from pipelines import html_templates
from pipelines.reading.dialogues import parts
from pipelines.reading.dialogues.marking import cut

HERE = Path(__file__).parent
STEERING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but for the end of a line, and those that force or embed a direction: a text that runs from right
to left needs none of them."""
CHANGES = {"added": "+", "changed": "~", "dropped": "-", "carried": ""}
"""What a turn did to a slot -> its sign."""


def render_page(dialogue: parts.Dialogue) -> str:
    """A whole page. Its policy lets nothing in but its own style, known by its hash."""
    css = style()
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return _environment().get_template("page.html").render(**_values(dialogue), css=css, digest=digest)


def render_fragment(dialogue: parts.Dialogue) -> str:
    """The dialogue alone, an `article`; `style` is what it needs."""
    return _environment().get_template("dialogue.html").render(**_values(dialogue))


def style() -> str:
    """The style sheet, whose rules reach nothing outside of the dialogue."""
    return (HERE / "dialogue.css").read_text(encoding="utf-8")


@functools.cache
def _environment() -> jinja2.Environment:
    return html_templates.environment(HERE, text=text_of, harmless=harmless, moment=moment)


def _values(dialogue: parts.Dialogue) -> dict[str, Any]:
    return {
        "dialogue": dialogue,
        "shown": dialogue.mark.shown_key if dialogue.mark else None,
        "sides": sides(dialogue.turns),
        "changes": CHANGES,
        "cut": cut,
    }


def text_of(value: object) -> markupsafe.Markup:
    """A text of a corpus, escaped, in its own direction; NULL where there is none."""
    if value is None:
        return markupsafe.Markup('<span class="null">NULL</span>')
    return markupsafe.Markup('<bdi dir="auto">{}</bdi>').format(harmless(str(value)))


def moment(value: datetime.datetime | str) -> str:
    """Return a time in the form of ISO 8601, to the second."""
    text = value if isinstance(value, str) else value.isoformat(" ")
    return text.partition(".")[0].replace(" ", "T")


def harmless(text: str) -> str:
    """The text with what would steer its display written out, but for the ends of lines."""
    return STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def sides(turns: list[parts.Turn]) -> dict[tuple[str, str | None], str]:
    """The side of each speaker: users left, systems right, others in turns, as they speak."""
    found: dict[tuple[str, str | None], str] = {}
    for turn in turns:
        others = sum(role not in ("user", "system") for role, _ in found)
        side = {"user": "left", "system": "right"}.get(turn.role) or ("left", "right")[others % 2]
        found.setdefault((turn.role, turn.speaker), side)
    return found
