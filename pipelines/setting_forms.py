"""How the text of each setting is read from the environment, and what of it is refused.

What the settings are and what they mean is `pipelines.settings`.
"""

from __future__ import annotations

import math
import os
import re
import urllib.parse
import zoneinfo
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pipelines.errors import InputError

ON, OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
"""What a switch may be set to, in any case."""
PER_CORE = 4
"""Threads and processes that a core may have; more only stand in each other's way."""
MOST_OF = dict.fromkeys(("threads", "processes"), PER_CORE * (os.cpu_count() or 1))
MOST = 1_000
"""The most of anything else that is counted."""
MOST_SECONDS = 7 * 24 * 3600
LEAST_MEMORY = {"memory_limit": ("a build", 300 * 10**6), "query_memory_limit": ("a query", 50 * 10**6)}
"""Bytes: the sample is built with 250 MB, and with 150 MB its models run out of memory; it is read with 20 MB."""


ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]+:/")
"""How the address of an object store or a server begins; a drive has one letter."""


class SettingsError(InputError):
    """A setting has a value that cannot be used."""


def corpora_named(texts: Iterable[str], name: str) -> tuple[str, ...]:
    """The corpora that a setting or an option of this name lists, separated by commas. Raises SettingsError for none.

    Whether there is such a corpus is known to `pipelines.corpora.registry` alone.
    """
    named = tuple(part.strip() for text in texts for part in text.split(",") if part.strip())
    if not named:
        raise SettingsError(f"{name}: names no corpus")
    return named


def parse(name: str, text: str) -> Any:
    """The value that the text of a setting stands for. Raises SettingsError."""
    return next((read(name, text) for names, read in _FORMS if name in names), text)


def _switch(name: str, text: str) -> bool:
    if text.strip().lower() not in (*ON, *OFF):
        raise SettingsError(f"DIALOGUE_{name.upper()}: '{text}' is none of {', '.join((*ON, *OFF))}")
    return text.strip().lower() in ON


def _count(name: str, text: str) -> int:
    most = MOST_OF.get(name, MOST)
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or not 1 <= int(digits[:9]) <= most:
        of = f", {PER_CORE} a core of this machine" if name in MOST_OF else ""
        raise SettingsError(f"DIALOGUE_{name.upper()}: '{text}' is no number from 1 to {most}{of}")
    return int(digits)


def _number(name: str, text: str, of: str, most: int) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= most:
        raise SettingsError(f"DIALOGUE_{name.upper()}: '{text}' is no positive number of {of}, up to {most}")
    return number


def _seconds(name: str, text: str) -> float:
    return _number(name, text, "seconds", MOST_SECONDS)


def _period(name: str, text: str) -> float:
    return _number(name, text, name.rpartition("_")[2], MOST)


def _cron(name: str, text: str) -> str:
    """A time as cron has it; whether the numbers can be is known to Dagster, which says it when it loads."""
    if not re.fullmatch(r"@(hourly|daily|weekly|monthly)|[-0-9A-Za-z*,/]+( [-0-9A-Za-z*,/]+){4}", text.strip()):
        raise SettingsError(f"DIALOGUE_{name.upper()}: '{text}' is no time such as '0 4 * * *' or @daily")
    return text.strip()


def _timezone(name: str, text: str) -> str:
    try:
        zoneinfo.ZoneInfo(text.strip())
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise SettingsError(f"DIALOGUE_{name.upper()}: '{text}' is no time zone such as Europe/Berlin") from None
    return text.strip()


def _memory(name: str, text: str) -> str:
    """A size as DuckDB writes it, and enough of it for what it is for."""
    what, enough = LEAST_MEMORY[name]
    size = re.fullmatch(r"(\d+(?:\.\d+)?) *([kmgt]i?b|%)", text.strip(), flags=re.IGNORECASE | re.ASCII)
    if not size:
        raise SettingsError(f"DIALOGUE_{name.upper()}: '{text}' is no size such as 4GB, 512MiB or 50%")
    unit = size[2].lower()
    if unit == "%":
        least, most = 0.0, 100.0
        count = float(size[1]) / 100 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    else:
        least, most = 0.0, math.inf
        count = float(size[1]) * (1024 if "i" in unit else 1000) ** ("kmgt".index(unit[0]) + 1)
    if not least < float(size[1]) <= most or count < enough:
        raise SettingsError(
            f"DIALOGUE_{name.upper()}: '{text}' is too {'much' if float(size[1]) > most else 'little'}; "
            f"the least that {what} works with is {enough // 10**6}MB, the most 100%"
        )
    return text.strip()


def is_mirror(url: str) -> bool:
    """Whether files can be downloaded from below this URL."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return bool(host) if parts.scheme in ("http", "https") else parts.scheme == "file" and host in (None, "localhost")


def folder_named(text: str, asked_by: str) -> Path:
    """Read the path of a local folder; `asked_by` is the option or variable that has it. Raises SettingsError."""
    if not text.strip():
        raise SettingsError(f"{asked_by}: names no folder")
    if ADDRESS.match(text):
        raise SettingsError(f"{asked_by}: '{text}' is an address; only folders of this machine can be used so far")
    return Path(text)


def has_host(url: str, schemes: tuple[str, ...]) -> bool:
    """Whether this is a URL of one of these schemes that names a host."""
    try:
        parts = urllib.parse.urlsplit(url)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


_FORMS: tuple[tuple[set[str], Callable[[str, str], Any]], ...] = (
    ({"source", "warehouse"}, lambda name, text: folder_named(text, f"DIALOGUE_{name.upper()}")),
    ({"only", "refresh"}, lambda name, text: corpora_named([text], f"DIALOGUE_{name.upper()}")),
    ({"alert_to"}, lambda _, text: tuple(part.strip() for part in text.split(",") if part.strip())),
    ({"cron", "fetch_cron"}, _cron),
    ({"timezone"}, _timezone),
    ({"strict", "verify", "force", "replace", "keep_going"}, _switch),
    ({"threads", "processes", "builds_kept", "jobs", "attempts"}, _count),
    ({"timeout", "backoff", "audit_timeout", "query_timeout", "quiet_seconds", "patience"}, _seconds),
    (
        {"upstream_days", "published_hours", "builds_kept_days"},
        _period,
    ),
    ({"memory_limit", "query_memory_limit"}, _memory),
)
"""How the text of each setting is read; what is in none of these is text."""
