"""Write the pages of the report into a new folder, which then replaces the old one."""

from __future__ import annotations

import contextlib
import functools
import re
import shutil
from collections.abc import Iterable
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from dialogue_warehouse.common import files
from dialogue_warehouse.common.files import open_regular, read_regular
from dialogue_warehouse.common.text import url
from dialogue_warehouse.errors import InputError, counted
from dialogue_warehouse.paths import BUILD_ID, WarehousePaths, absolute
from dialogue_warehouse.reading.connection import open_published
from dialogue_warehouse.reading.dialogue_parts import GENERATED
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site import contents, dictionary, drawing, histories, rendering
from dialogue_warehouse.site import scores as score_pages
from dialogue_warehouse.site.contents import is_page_name, page_name

TEMPLATES = rendering.TEMPLATES
ASSETS = ("report.css", "report.js")
STYLES = {"dialogue.css": rendering.style, "charts.css": drawing.style}
"""Style sheets from other modules that the pages need."""
PAGES = {
    "index": "Overview",
    "corpora": "Corpora",
    "changes": "Changes",
    "claims": "Claims",
    "violations": "Defects",
    "expectations": "Expectations",
    "dictionary": "Dictionary",
}
"""The pages and their names in the menu."""
MARK = "<!-- dialogue-warehouse report -->"
"""The beginning of index.html. A folder with such a page may be replaced."""
BUILD_META = "dialogue-warehouse-build"
"""The meta element that names the build."""
DBT_DOCS = "dbt.html"
"""The page of dbt's own documentation."""
DBT_HEAD = 4096
"""Bytes of that page that have its meta element."""
CLAIM_OUTCOMES = {
    "reproduced": "reproduced",
    "as_recorded": "refuted as recorded",
    "unexpected": "unexpected",
    "vacuous": "vacuous",
    "source_absent": "source absent",
    "not_checkable": "not checkable",
}
"""The outcomes of a claim, and their texts on the pages."""
VOICES = {
    "publisher": "the publisher",
    "paper": "the paper",
    "other_project": "another project",
    "own_measurement": "this project's own measurement",
}
"""The quoted parties of a claim, and their texts on the pages."""
PROFILE_COLUMNS = {
    "dialogue_count": "Dialogues",
    "turn_count": "Turns",
    "turns_per_dialogue": "Turns per dialogue",
    "token_count": "Tokens",
    "tokens_per_utterance": "Tokens per utterance",
    "vocabulary_count": "Vocabulary",
    "type_token_ratio": "Type-token ratio",
    "domain_count": "Domains",
    "service_count": "Services",
    "intent_count": "Intents",
    "act_count": "Acts",
    "distinct_slot_count": "Slots",
    "distinct_value_count": "Values",
}
"""The columns of a split's profile, and their headings on the page."""
RULE_KINDS = {"defect": "defect", "property": "by design"}
"""The kinds of a rule's cases, and their texts on the pages."""


def write_report(paths: WarehousePaths, settings: Settings, to: Path | None = None, scores: Path | None = None) -> Path:
    """Write the report of the published build and return its index.html; `to` defaults to the warehouse's `reports`.

    `scores` is a file of `score --to`, whose results have a page.

    The folder is replaced as a whole; if anything fails, the old one stays. The report of the warehouse is also kept
    with its build. Raises InputError if nothing is published, or if the folder contains other files.
    """
    to = absolute(to or paths.reports)
    _refuse_foreign(to)
    with open_published(paths, settings=settings, scores=scores) as con:
        found = contents.read(con, paths, has_scores=scores is not None)
    partial = files.beside(to, "tmp")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with files.writing_into(to.parent):
            _write(found, paths, to, partial)
    except OSError as error:
        raise InputError(f"{to}: the report cannot be written: {error.strerror or error}") from error
    if to == paths.reports and BUILD_ID.fullmatch(found.build["build_id"]):
        with contextlib.suppress(OSError):  # then a rollback to this build writes its report again
            _copy(to, paths.build_report(found.build["build_id"]))
    return to / "index.html"


def show_again(paths: WarehousePaths, build_id: str) -> Path | None:
    """Replace the report by the one that was kept with this build; return its index.html, or None if none was kept.

    Code of another version may have written it, which alone can show that build. Raises InputError if the folder
    contains other files, or cannot be written.
    """
    kept = paths.build_report(build_id)
    if not is_about(build_id, kept):
        return None
    _refuse_foreign(paths.reports)
    try:
        _copy(kept, paths.reports)
    except OSError as error:
        raise InputError(f"{paths.reports}: the report cannot be written: {error.strerror or error}") from error
    return paths.reports / "index.html"


def _copy(report: Path, to: Path) -> None:
    """Replace a report by another one, whose files are not changed after they were written: links to them suffice."""
    partial = files.beside(to, "tmp")
    with files.writing_into(to.parent):
        try:
            partial.mkdir()
            for file in report.iterdir():
                files.link_or_copy(file, partial / file.name)
            _replace(to, partial)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _write(found: contents.Contents, paths: WarehousePaths, to: Path, partial: Path) -> None:
    """Write all files into a folder beside that of the report, which it then replaces."""
    try:
        partial.mkdir()
        for name in ASSETS:
            shutil.copyfile(TEMPLATES / name, partial / name)
        for name, style in STYLES.items():
            (partial / name).write_text(style(), encoding="utf-8")
        dbt_docs = dbt_docs_of(found.build["build_id"], paths)
        if dbt_docs is not None:
            shutil.copyfile(dbt_docs, partial / DBT_DOCS)
        for name, text in render(found, dbt_docs is not None).items():
            (partial / name).write_text(text, encoding="utf-8")
        _replace(to, partial)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def build_meta(build_id: str) -> str:
    """Return the meta element that names the build of a page."""
    return f'<meta name="{BUILD_META}" content="{build_id}">'


def dbt_docs_of(build_id: str, paths: WarehousePaths) -> Path | None:
    """Return the page of dbt's own documentation of this build, which may not be the last one; None if none is kept."""
    meta = build_meta(build_id).encode()
    for page in (paths.dbt_docs, paths.build_report(build_id) / DBT_DOCS):
        with contextlib.suppress(OSError), open_regular(page) as stream:
            if meta in stream.read(DBT_HEAD):
                return page
    return None


class BuildParser(HTMLParser):
    """Find the build that a page of the report is about."""

    build_id: str | None = None
    """The content of its meta element, else of the first `code`: pages of earlier versions begin with it."""
    is_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read the meta element."""
        found = dict(attrs)
        if tag == "meta" and found.get("name") == BUILD_META:
            self.build_id = found.get("content")
        self.is_code = tag == "code"

    def handle_data(self, data: str) -> None:
        """Read a `code` element if no build was found before it."""
        if self.is_code and self.build_id is None:
            self.build_id = data


def is_about(build_id: str, folder: Path) -> bool:
    """Return whether the report in this folder is about this build, rather than listing it among the earlier ones."""
    parser = BuildParser()
    try:
        parser.feed(read_regular(folder / "index.html").decode())
    except (OSError, UnicodeDecodeError):
        return False
    return parser.build_id == build_id


@functools.cache
def templates() -> jinja2.Environment:
    """Return the templates of the pages. All values are escaped; only http and https URLs become links."""
    return rendering.environment(
        TEMPLATES,
        anchor=anchor,
        choices=_choices,
        compare=histories.compare,
        count=_count,
        counted=counted,
        dashboard=url,
        average=_average,
        figure=_figure,
        harmless=rendering.harmless,
        in_words=histories.in_words,
        is_url=_is_url,
        moment=_moment,
        run_page=score_pages.run_page,
        score=_score,
        p_value=_p_value,
        outcome=outcome,
        prose=prose,
        result_of=histories.result_of,
        text=rendering.text_of,
    )


def shared(found: Any, dbt_docs: str = "") -> dict[str, Any]:
    """Return what every page needs; `dbt_docs` is the URL of dbt's own documentation."""
    return {
        "found": found,
        "pages": PAGES,
        "menu": [(f"{name}.html", title) for name, title in PAGES.items()],
        "is_live": False,
        "asked": {},
        "paging": None,
        "claim_outcomes": CLAIM_OUTCOMES,
        "voices": VOICES,
        "rule_kinds": RULE_KINDS,
        "profile_columns": PROFILE_COLUMNS,
        "change_kinds": contents.KINDS,
        "mark": MARK,
        "build_meta": BUILD_META,
        "everywhere": dictionary.EVERYWHERE,
        "generated": GENERATED,
        "dbt_docs": dbt_docs,
    }


def render(found: contents.Contents, has_dbt_docs: bool = False) -> dict[str, str]:
    """Return the pages by file name."""
    values = shared(found, DBT_DOCS if has_dbt_docs else "")
    values["build_id"] = found.build["build_id"]
    if found.boards:
        values["menu"] = [*values["menu"], (score_pages.NAME, score_pages.TITLE)]
    pages = {
        f"{name}.html": templates().get_template(f"{name}.html").render(values, page=f"{name}.html") for name in PAGES
    }
    if found.boards:
        page, boards = templates().get_template("scores.html"), {"page": score_pages.NAME, "boards": found.boards}
        pages[score_pages.NAME] = page.render(values | boards)
    for run in found.runs:
        page = templates().get_template("run.html")
        pages[score_pages.run_page(run.row["run_id"])] = page.render(values, page=score_pages.NAME, run=run)
    conversation = templates().get_template("conversation.html")
    for dialogue in found.conversations.values():
        fragment = rendering.render_fragment(dialogue, rules="violations.html?search=")
        pages[page_name(dialogue.key)] = conversation.render(values, page="", dialogue=dialogue, fragment=fragment)
    return pages


def outcome(claim: dict[str, Any]) -> str:
    """Return the outcome of a claim, a key of CLAIM_OUTCOMES. Unlike the verdict it marks expected refutations."""
    if claim["is_as_recorded"] is False:
        return "unexpected"
    return "as_recorded" if claim["verdict"] == "refuted" else claim["verdict"]


def anchor(name: str) -> str:
    """Return a URL fragment for a name; different names have different fragments."""
    return re.sub(r"[^A-Za-z0-9_.-]", lambda match: f"~{ord(match[0]):x}~", name)


def prose(text: str | None) -> markupsafe.Markup:
    """Return a description, escaped, with text in backticks as code."""
    parts = re.split(r"`([^`\n]+)`", text or "")
    return markupsafe.Markup("").join(
        markupsafe.Markup("<code>{}</code>").format(part) if index % 2 else part for index, part in enumerate(parts)
    )


def _choices(rows: Iterable[dict[str, Any]], name: str) -> list[str]:
    """Return the values of a filter."""
    return sorted({row[name] for row in rows if row[name] is not None})


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _figure(value: int | float | None) -> str:
    return "" if value is None else drawing.number(value) if isinstance(value, float) else drawing.count(value)


def _average(value: int | float | None) -> str:
    """Format a number like its column: a float keeps its zeros at the end."""
    is_short = isinstance(value, float) and abs(value) < 100
    return f"{value:#.3g}" if is_short else _figure(value)


def _moment(value: datetime) -> str:
    return f"{value:%Y-%m-%d %H:%M:%S} UTC"


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def _p_value(value: float | None) -> str:
    return "< 0.000001" if value is not None and value < 1e-6 else _score(value)


def _is_url(text: object) -> bool:
    return isinstance(text, str) and re.match(r"https?://[^\s]+$", text) is not None


def _refuse_foreign(to: Path) -> None:
    """Raise InputError if files other than a report would be overwritten."""
    if not to.exists() and not to.is_symlink():
        return
    if to.is_symlink() or not to.is_dir():
        raise InputError(f"{to} is not a folder: no report is written there")
    try:
        is_report = read_regular(to / "index.html").decode().startswith(MARK)
    except (OSError, UnicodeDecodeError):
        is_report = False
    foreign = [page.name for page in to.iterdir() if not is_own(page)]
    if foreign or (not is_report and any(to.iterdir())):
        such_as = f" ({foreign[0]})" if is_report else ""
        raise InputError(
            f"{to} contains something other than a report{such_as}: not overwritten; "
            "`report --to FOLDER` writes one elsewhere"
        )


def is_own(file: Path) -> bool:
    """Tell by its name if a file is part of a report."""
    pages = {*(f"{page}.html" for page in PAGES), score_pages.NAME}
    is_named = file.name in {*pages, *ASSETS, *STYLES, DBT_DOCS} or is_page_name(file.name)
    is_named = is_named or score_pages.is_run_page(file.name)
    return is_named and file.is_file() and not file.is_symlink()


def _replace(to: Path, partial: Path) -> None:
    """Replace the old folder with the new one; restore the old one if that fails."""
    old = files.beside(to, "old")
    if not to.exists():
        partial.rename(to)
        return
    to.rename(old)
    try:
        partial.rename(to)
    except OSError:
        old.rename(to)
        raise
    for file in filter(is_own, list(old.iterdir())):
        file.unlink()
    with contextlib.suppress(OSError):  # other files were put there meanwhile, and stay
        old.rmdir()
