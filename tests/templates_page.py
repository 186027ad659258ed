"""Write the table of chat templates in docs/export.md: `python -m tests.templates_page WAREHOUSE`.

A row has templates of TRL, the options of the export that they need, and what they refuse or lose even so.
`validators/render_templates.py` finds this out with examples of the warehouse.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from dialogue_warehouse.paths import CLONE
from tests import validators

PAGE = CLONE / "docs" / "export.md"
BEGIN, END = "<!-- templates: begin -->", "<!-- templates: end -->"
PROFILES = ("faithful", "alternating")
ARGUMENTS = ("object", "string")
TRAINING = "_training"
"""Ending of a template that TRL has changed for training."""
LOSES_CALLS = "loses calls"
WORDS = {
    "lost: name of a call": LOSES_CALLS,
    "lost: argument": LOSES_CALLS,
    "lost: text of a call": "loses the text of a message that also has a call",
    "lost: result": "loses results",
    "lost: tool": "loses the list of tools",
    "refused: System role not supported": "refuses a system prompt",
    "refused: No user query found in messages.": "refuses a dialogue without a message of the user",
}
REFUSES_CALLS = "refuses calls"
"""The words for any other refusal, which only examples with calls have."""

Outcomes = dict[str, list[str]]
"""The outcomes of each kind of example."""
Template = dict[str, dict[str, Outcomes]]
"""The outcomes of each profile and form of arguments."""


def problems(outcomes: Outcomes, kind: str, *beginnings: str) -> list[str]:
    """Return the outcomes of a kind of example that begin so."""
    return [each for each in outcomes.get(kind, []) if each.startswith(beginnings)]


def suits(outcomes: Outcomes) -> bool:
    """Return whether the order of the messages suits a template."""
    return outcomes["texts"] == ["whole"] and not problems(outcomes, "tools", "wrong")


def forms_of(template: Template, profile: str) -> list[str]:
    """Return the forms of arguments that a template needs; none if it refuses or loses calls."""
    bad = ("refused", "wrong", "lost: argument")
    return [form for form in ARGUMENTS if not problems(template[profile][form], "calls", *bad)]


def lost(outcomes: Outcomes) -> list[str]:
    """Return in words what is refused or lost."""
    found = {WORDS.get(each, REFUSES_CALLS) for of_kind in outcomes.values() for each in of_kind if each != "whole"}
    return sorted(found - {LOSES_CALLS} if REFUSES_CALLS in found else found)


def needs(template: Template) -> tuple[str, str, str]:
    """Return the profile and the form of arguments that a template needs, and what it refuses or loses."""
    suited = [profile for profile in PROFILES if suits(template[profile]["object"])]
    if not suited:
        return "-", "-", "needs `content` as a list of parts"
    forms = forms_of(template, suited[0])
    with_each = {profile: lost(template[profile][(forms or ARGUMENTS)[0]]) for profile in suited}
    says = "; ".join(with_each[suited[0]])
    if more := [each for each in with_each.get(PROFILES[1], []) if each not in with_each[suited[0]]]:
        says = "; ".join([*([says] if says else []), f"with `{PROFILES[1]}`: {', '.join(more)}"])
    return f"`{suited[0]}`", " or ".join(f"`{form}`" for form in forms) or "-", says or "nothing"


def table(report: dict[str, Template]) -> list[str]:
    """Return the rows of the table. A template for training that needs what its original needs is not named."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for name, template in report.items():
        original = report.get(name.removesuffix(TRAINING))
        if name.endswith(TRAINING) and original and needs(original) == needs(template):
            continue
        rows.setdefault(needs(template), []).append(f"`{name}`")
    head = ["| templates | `--profile` | `--arguments` | refuses or loses |", "|---|---|---|---|"]
    return head + [f"| {', '.join(names)} | {' | '.join(row)} |" for row, names in sorted(rows.items(), key=place)]


def place(row: tuple[tuple[str, str, str], list[str]]) -> tuple:
    """Return the place of a row: templates that render everything first, those that need something else last."""
    (profile, arguments, says), names = row
    return says != "nothing", arguments == "-", profile == "-", PROFILES[1] in profile, names


def rewrite(document: str, report: dict[str, Template]) -> str:
    """Return the document with the table of a report."""
    lines = "".join(f"{line}\n" for line in table(report))
    return re.sub(f"(?<={BEGIN}\n).*(?={END})", lambda _: lines, document, flags=re.S)


def main(warehouse: str) -> None:
    """Export the warehouse with both profiles and write the table."""
    with tempfile.TemporaryDirectory() as scratch:
        for profile in PROFILES:
            command = [sys.executable, "-m", "dialogue_warehouse", "export", "--form", "chat", "--profile", profile]
            command += ["--to", f"{scratch}/{profile}", "--warehouse", warehouse, "--quiet"]
            subprocess.run(command, check=True)
        report = validators.run("render_templates.py", *(f"{profile}={scratch}/{profile}" for profile in PROFILES))
    PAGE.write_text(rewrite(PAGE.read_text(encoding="utf-8"), report), encoding="utf-8")


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).absolute()))
