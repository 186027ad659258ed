"""Queries of the pages: each opens and closes the published build, and its result is cached for that build."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import damage, dialogues
from dialogue_warehouse.reading.connection import Connection, open_published
from dialogue_warehouse.reading.findings import Row, read_rows
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site import rendering
from dialogue_warehouse.site.pictures import Picture, read_pictures
from dialogue_warehouse.storage import builds

Read = TypeVar("Read")
CACHED_ANSWERS = 300
"""Maximum number of cached results."""


def settings() -> Settings:
    """Return the settings of the server's environment."""
    return Settings.from_environment()


def build_id() -> str:
    """Return the id of the published build, which has its own cached results. Raises InputError if there is none."""
    return builds.published_build(WarehousePaths(settings().warehouse))[0]


def reading_published(read: Callable[[Connection], Read]) -> Read:
    """Open the published build, return the result of `read`, and close the build."""
    own = settings()
    paths = WarehousePaths(own.warehouse)
    try:
        with open_published(paths, settings=own) as con:
            return read(con)
    except Exception as error:
        raise damage.cause_of(error, paths) or error from error


def rows(query: str, **parameters: Any) -> list[Row]:
    """Return the rows of a query."""
    return _rows(build_id(), query, parameters)


@st.cache_data(max_entries=CACHED_ANSWERS, show_spinner=False)
def _rows(build: str, query: str, parameters: dict[str, Any]) -> list[Row]:
    return reading_published(lambda con: read_rows(con, query, parameters))


def pictures() -> list[Picture]:
    """Return all charts."""
    return _pictures(build_id())


@st.cache_data(max_entries=4, show_spinner=False)
def _pictures(build: str) -> list[Picture]:
    return reading_published(lambda con: list(read_pictures(con)))


def dialogue(key: str) -> tuple[str, str, str]:
    """Return a key's dialogue: its own key, its HTML, its JSON. Raises InputError if there is none."""
    return _dialogue(build_id(), key)


@st.cache_data(max_entries=50, show_spinner=False)
def _dialogue(build: str, key: str) -> tuple[str, str, str]:
    from dialogue_warehouse.reading import dialogue_parts

    read = reading_published(lambda con: dialogues.read_dialogue(con, key))
    return read.key, rendering.render_fragment(read), dialogue_parts.as_json(read)
