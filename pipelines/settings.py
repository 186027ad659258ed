"""The one settings object: what a user may set from the environment, and the switches that keep libraries silent.

Every setting is an environment variable `DIALOGUE_<NAME>`; the README lists them. Where things lie below the
warehouse folder is the business of `pipelines.paths`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pipelines.errors import InputError
from pipelines.paths import CLONE

TELEMETRY_OFF = {
    "DO_NOT_TRACK": "1",
    "DAGSTER_DISABLE_TELEMETRY": "1",
    "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    "GX_ANALYTICS_ENABLED": "false",
}

FORMS = ("release", "huggingface")
"""The forms that a release may be given in; the first is the publisher's own files."""


class SettingsError(InputError):
    """A setting has a value that cannot be used."""


@dataclass(frozen=True)
class Settings:
    """What a user may set. Field `x` is read from the environment variable `DIALOGUE_X`."""

    source: Path | None = None
    """Folder with the releases, `<source>/<corpus_id>/<path>`; None stands for the embedded sample."""
    warehouse: Path = CLONE / "warehouse"
    """Folder of the warehouse."""
    form: str = FORMS[0]
    """Form of the releases: the publisher's own files, or a republication of them."""
    only: tuple[str, ...] = ()
    """Corpora to build; empty stands for all."""
    strict: bool = False
    """Refuse what the schemas do not know, and block on warnings too."""
    verify: bool = False
    """Rebuild every file from core and compare it with its source before publishing."""
    force: bool = False
    """Build although nothing changed, and land every file again."""
    memory_limit: str = "4GB"
    """Memory that DuckDB may use in the building process, as DuckDB writes it."""
    threads: int = 2
    """Threads of DuckDB in the building process."""
    processes: int = 2
    """Processes that land files side by side."""
    builds_kept: int = 3
    """Published builds that stay on disk."""

    @classmethod
    def from_environment(cls, **overrides: Any) -> Settings:
        """Settings from `DIALOGUE_…` variables; overrides that are not None win. Raises SettingsError."""
        values: dict[str, Any] = {}
        for field in fields(cls):
            text = os.environ.get(f"DIALOGUE_{field.name.upper()}")
            if text:
                values[field.name] = _parse(field.name, text)
        settings = replace(cls(), **values)
        settings = replace(settings, **{name: value for name, value in overrides.items() if value is not None})
        if settings.form not in FORMS:
            raise SettingsError(f"DIALOGUE_FORM: '{settings.form}' is none of {', '.join(FORMS)}")
        return replace(
            settings,
            warehouse=settings.warehouse.expanduser().absolute(),
            source=settings.source and settings.source.expanduser().absolute(),
        )


def _parse(name: str, text: str) -> Any:
    match name:
        case "source" | "warehouse":
            return Path(text)
        case "only":
            return tuple(part.strip() for part in text.split(",") if part.strip())
        case "strict" | "verify" | "force":
            return text.lower() in ("1", "true", "yes", "on")
        case "threads" | "processes" | "builds_kept":
            if not text.isdigit() or int(text) < 1:
                raise SettingsError(f"DIALOGUE_{name.upper()}: '{text}' is no positive number")
            return int(text)
        case _:
            return text


def silence_telemetry() -> None:
    """Switch off the telemetry of every library, for this process and its children."""
    os.environ.update(TELEMETRY_OFF)
