"""Write the tables of docs/settings.md from the declarations of the settings: `python -m tests.settings_page`.

A row has the variable, the option of the same setting, its default, and the docstring below the field in `dialogue_warehouse.settings.Settings`.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from typing import Any

import click

from dialogue_warehouse.cli.main import cli
from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.settings import Settings, variable_of

PAGE = CLONE / "docs" / "settings.md"
BEGIN, END = "<!-- settings: begin -->", "<!-- settings: end -->"
GROUPS = {
    "What is read, and where it is written": ("source", "warehouse", "form", "only", "tables"),
    "How a build behaves": (
        "strict",
        "verify",
        "force",
        "replace",
        "keep_going",
        "refresh",
        "builds_kept",
        "builds_kept_days",
        "log_format",
    ),
    "Download": ("mirror", "jobs", "timeout", "attempts", "backoff", "cache"),
    "Resources and time limits": (
        "memory_limit",
        "threads",
        "processes",
        "audit_timeout",
        "query_timeout",
        "query_memory_limit",
    ),
    "Alerts": ("alert_webhook", "alert_smtp", "alert_from", "alert_to", "heartbeat_hours"),
    "Spark": ("engine", "spark_master", "spark_conf"),
    "Dagster": ("cron", "fetch_cron", "timezone", "quiet_seconds", "patience", "upstream_days", "web_hosts"),
}
"""The settings of each group, in the order of the page."""
DEFAULTS = {
    "source": "the embedded sample",
    "warehouse": "`warehouse/` of the project's clone; without a clone, of the working folder",
    "only": "all",
    "refresh": "all",
    "verify": "off; on in runs of Dagster",
    "keep_going": "off; on in runs of Dagster",
    "builds_kept_days": "no limit",
    "query_memory_limit": "`DIALOGUE_MEMORY_LIMIT`",
    "mirror": "the publishers' servers",
    "cache": "`dialogue-warehouse/downloads` in `XDG_CACHE_HOME`, which is `~/.cache` if it is not set",
    "web_hosts": "only this machine's",
}
"""Words for the defaults that do not speak for themselves."""


def descriptions() -> dict[str, str]:
    """Return the first paragraph of the docstring below each field of the settings."""
    (settings,) = ast.parse(textwrap.dedent(inspect.getsource(Settings))).body
    assert isinstance(settings, ast.ClassDef)
    found = {}
    for declared, text in zip(settings.body, settings.body[1:], strict=False):
        match declared, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(description))),
            ):
                found[name] = " ".join(inspect.cleandoc(description).partition("\n\n")[0].split())
    return found


def default_of(name: str, value: Any) -> str:
    """Return the default of a setting as the page shows it."""
    if name in DEFAULTS:
        return DEFAULTS[name]
    if value in (None, ()):
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, int | float) else f"`{value}`"


def options() -> dict[str, str]:
    """Map each setting to the option that sets it for one run of a command; most settings have none."""
    return {
        parameter.name or "": f"`{parameter.opts[0]}`"
        for command in cli.commands.values()
        for parameter in command.params
        if isinstance(parameter, click.Option)
    }


def tables() -> str:
    """Return a heading and a table for each group. Raises KeyError for a setting without a description."""
    texts, given = descriptions(), options()
    defaults = {field.name: field.default for field in dataclasses.fields(Settings)}
    parts = []
    for title, names in GROUPS.items():
        rows = [
            f"| `{variable_of(name)}` | {given.get(name, '')} | {default_of(name, defaults[name])} | {texts[name]} |"
            for name in names
        ]
        parts.append(
            "\n".join([f"## {title}", "| variable | option | default | meaning |", "|---|---|---|---|", *rows])
        )
    return "\n\n".join(parts)


def rewrite(document: str) -> str:
    """Return the document with the current tables between its markers. Raises ValueError if it has no markers."""
    if document.count(BEGIN) != 1 or document.count(END) != 1:
        raise ValueError(f"the document has no part between {BEGIN} and {END}")
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{tables()}\n{END}", document, flags=re.S)


if __name__ == "__main__":
    PAGE.write_text(rewrite(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
