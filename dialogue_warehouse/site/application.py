"""The server's pages: which function answers which address, and what a browser may keep.

Pages read in threads; queries of users run in processes (`running`). Each page is the state of its URL, so that
Back, reload and a link show the same. A page is kept by the browser until another build is published or the server
starts again. What many pages need is read when the server starts, and when a build is published.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from dialogue_warehouse.common.files import read_regular
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import dialogue_parts, dialogues
from dialogue_warehouse.reading.catalogue import UnknownTableError
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.findings import TraceError
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site import asking, browsing, finding, quality, report
from dialogue_warehouse.site import scores as score_pages
from dialogue_warehouse.site.guarding import ALONE, LOOPBACK, Guard, LastResort, is_from_elsewhere, policy_with_editor
from dialogue_warehouse.site.published import Build, BusyError, Published, bound, file_name
from dialogue_warehouse.site.query_process import FORMS, Answer, Question
from dialogue_warehouse.site.running import RUNNING, Workers

Made = TypeVar("Made")
MENU = [
    ("index.html", "Overview"),
    ("corpora.html", "Corpora"),
    ("dialogues", "Dialogues"),
    ("tables", "Tables"),
    ("sql", "SQL"),
    ("claims.html", "Claims"),
    ("violations.html", "Defects"),
    ("expectations.html", "Expectations"),
    ("builds", "Builds"),
]
"""The pages in the menu, and their names."""
WHOLE = ("index.html", "corpora.html", "changes.html", "dictionary.html")
"""The pages that are the report's own."""
SCRIPTS = {
    "report.js": "text/javascript",
    "site.js": "text/javascript",
    "editor.js": "text/javascript",
    "report.css": "text/css",
    "site.css": "text/css",
}
TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json", "parquet": "application/vnd.apache.parquet"}
LOOK = 5.0
"""Seconds after which the server looks whether another build is published."""
NOT_RUN = "Another site has sent you here, so the query is not run yet. Read it, then press Run."


class Site:
    """The functions that answer."""

    def __init__(self, paths: WarehousePaths, settings: Settings, scores: Path | None) -> None:
        self._paths, self._scores = paths, scores
        share = bound(settings, RUNNING + 1)
        self.published = Published(paths, share, scores)
        self.workers = Workers(paths.root, share, scores)
        self._menu = MENU if scores is None else [*MENU, (score_pages.NAME, score_pages.TITLE)]
        self._started = time.time_ns()

    def routes(self) -> list[Route]:
        """Return the URLs and what answers them."""
        return [
            Route("/", self.first),
            *(Route(f"/{name}", self.whole) for name in WHOLE),
            Route("/claims.html", self.claims),
            Route("/violations.html", self.rules),
            Route("/expectations.html", self.expectations),
            Route("/builds", self.builds),
            Route(f"/{score_pages.NAME}", self.scores),
            Route("/dialogues", self.dialogues),
            Route("/dialogue.json", self.json),
            Route("/tables", self.tables),
            Route("/sql", self.sql),
            *(Route(f"/answer.{form}", self.download) for form in FORMS),
            *(Route(f"/{name}", self.file) for name in (*SCRIPTS, *report.STYLES, report.DBT_DOCS)),
        ]

    @contextlib.asynccontextmanager
    async def running(self, _app: Starlette) -> AsyncGenerator[None]:
        """Keep a process ready for a query while the server runs, and read in advance what many pages need."""
        self.workers.prepare()
        preparing = asyncio.create_task(self.prepare())
        try:
            yield
        finally:
            preparing.cancel()
            await asyncio.wait({preparing})
            await self.workers.close()
            self.published.close()

    async def prepare(self) -> None:
        """Read what many pages need, once for each build that is published."""
        prepared = None
        while True:
            with contextlib.suppress(InputError):  # every page says that nothing is published
                build_id = await run_in_threadpool(self.published.build_id)
                for step in self._steps() if build_id != prepared else ():
                    with contextlib.suppress(Exception):  # the page that needs it says what is wrong
                        await run_in_threadpool(self.published.read, step)
                prepared = build_id
            await asyncio.sleep(LOOK)

    def _steps(self) -> Iterator[Callable[[Build, Connection], object]]:
        """Yield what is read in advance, in parts: a reader never waits for more than one of them."""
        yield lambda build, _: self._kept(build, "index.html")
        yield lambda build, con: build.index(con)
        yield finding.prepare
        for part in ("rules", "claims", "suites"):
            yield lambda build, _, part=part: getattr(build.reading, part)
        yield browsing.prepare
        for name in WHOLE:
            yield lambda build, _, name=name: self._kept(build, name)

    # Pages

    def _page(self, request: Request, template: str, make: Callable[[Build, Connection], dict[str, Any]]) -> Response:
        """Answer with a page of the published build, unless the browser has it already."""
        return self._text(request, lambda build, con: self._render(build, template, request.url.path, make(build, con)))

    def _text(self, request: Request, make: Callable[[Build, Connection], str]) -> Response:
        """Answer with the text of a page, unless the browser has it already."""
        tag = f'"{self.published.build_id()}-{self._started:x}"'
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        if _is_kept(request, tag):
            return Response(status_code=304, headers=headers)
        return HTMLResponse(self.published.read(make), headers=headers)

    def _render(self, build: Build, template: str, path: str, values: dict[str, Any]) -> str:
        """Return the text of a page."""
        has_dbt_docs = report.dbt_docs_of(build.build_id, self._paths) is not None
        shared = report.shared(quality.Found(build.reading), report.DBT_DOCS if has_dbt_docs else "")
        shared |= {"menu": self._menu, "is_live": True, "page": path.strip("/")} | values
        return report.templates().get_template(template).render(shared)

    def first(self, request: Request) -> Response:
        """Answer `/`: the overview, or the dialogue of `key`."""
        key = request.query_params.get("key", "").strip()
        if key:
            return RedirectResponse(quality.Links().address(key) or finding.Wanted(key=key).address(), status_code=303)
        return self._whole(request, "index.html")

    def whole(self, request: Request) -> Response:
        """Answer with a page that is the report's own."""
        return self._whole(request, request.url.path.strip("/"))

    def _whole(self, request: Request, name: str) -> Response:
        return self._text(request, lambda build, _: self._kept(build, name))

    def _kept(self, build: Build, name: str) -> str:
        """Return a page that is the report's own; its text is kept."""
        return build.kept.get(name, lambda: self._render(build, name, name, {}))

    def claims(self, request: Request) -> Response:
        """Answer with the claims that the URL asks for."""
        asked = request.query_params
        return self._page(request, "claims.html", lambda build, _: quality.claims(build.reading, asked))

    def rules(self, request: Request) -> Response:
        """Answer with the rules that the URL asks for."""
        asked = request.query_params
        return self._page(request, "violations.html", lambda build, con: quality.rules(build.reading, con, asked))

    def expectations(self, request: Request) -> Response:
        """Answer with the expectations that the URL asks for."""
        asked = request.query_params
        return self._page(request, "expectations.html", lambda build, _: quality.expectations(build.reading, asked))

    def builds(self, request: Request) -> Response:
        """Answer with the builds."""
        return self._page(request, "builds.html", lambda _, con: quality.builds(con, request.query_params))

    def scores(self, request: Request) -> Response:
        """Answer with the runs of the file of results, or with one of them. Raises InputError if there is no file."""
        file, asked = self._scores, dict(request.query_params)
        if file is None:
            raise InputError("this server shows no scores; `dashboard --scores FILE` shows those of `score --to FILE`")
        run_id = asked.get("run")

        def make(build: Build, con: Connection) -> dict[str, Any]:
            with score_pages.reading(con, file):
                if run_id:
                    return {"run": score_pages.read_run(con, run_id, asked), "build_id": build.build_id}
                return {"boards": score_pages.boards(con, asked), "build_id": build.build_id}

        return self._page(request, "run.html" if run_id else "scores.html", make)

    def dialogues(self, request: Request) -> Response:
        """Answer with the list of dialogues, and the open one; or with the row of a key that belongs to no dialogue."""
        asked = request.query_params
        try:
            return self._page(request, "dialogues.html", lambda build, con: finding.page(build, con, asked))
        except dialogues.NoDialogueError as error:
            if error.key != finding.wanted_by(asked).key:
                raise
            return RedirectResponse(browsing.address_of_row(error.table, error.key), status_code=303)

    def tables(self, request: Request) -> Response:
        """Answer with the list of tables, or one of them."""
        template = "table.html" if request.query_params.get("_table") else "tables.html"
        return self._page(request, template, lambda build, con: browsing.page(build, con, request.query_params))

    def json(self, request: Request) -> Response:
        """Answer with a dialogue as JSON."""
        key = request.query_params.get("key", "")
        text = self.published.read(lambda _, con: dialogue_parts.as_json(dialogues.read_dialogue(con, key)))
        name = file_name(key.replace("/", "_"), "json")
        headers = (
            {"Content-Disposition": f'attachment; filename="{name}"'} if "download" in request.query_params else {}
        )
        return Response(text, media_type="application/json", headers=headers)

    def file(self, request: Request) -> Response:
        """Answer with a script, a style sheet, or dbt's own documentation."""
        name = request.url.path.strip("/")
        if name == report.DBT_DOCS:
            build_id = self.published.build_id()
            page = report.dbt_docs_of(build_id, self._paths)
            if page is None:
                raise InputError(f"dbt's documentation of build {build_id} is not kept")
            headers = {"ETag": f'"{build_id}"', "Cache-Control": "private, no-cache"}
            if _is_kept(request, headers["ETag"]):
                return Response(status_code=304, headers=headers)
            return FileResponse(page, media_type="text/html", headers=headers | {"Content-Security-Policy": ALONE})
        text = report.STYLES[name]() if name in report.STYLES else read_regular(report.TEMPLATES / name).decode()
        tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:16]}"'
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        if _is_kept(request, tag):
            return Response(status_code=304, headers=headers)
        return Response(text, media_type=SCRIPTS.get(name, "text/css"), headers=headers)

    # Queries of users

    async def sql(self, request: Request) -> Response:
        """Answer with the page of SQL, and the answer to the query of the URL."""
        query = browsing.FORM_LINE_END.sub("\n", request.query_params.get("query", ""))  # a form sends other line ends
        elsewhere = is_from_elsewhere(request)
        answer, nonce = None, secrets.token_urlsafe(16)
        if query.strip() and not elsewhere:
            answer = await _while_read(request, self.answer(query))
            if answer is None:
                return Response(status_code=499)

        def make(build: Build, con: Connection) -> dict[str, Any]:
            tables = build.kept.get("columns", lambda: asking.read_columns(con))
            values = {"tables": tables, "notice": NOT_RUN if query.strip() and elsewhere else "", "nonce": nonce}
            values["words"] = asking.words(tables, build.kept.get("keywords", lambda: asking.read_keywords(con)))
            return asking.page(query, answer, dict(request.query_params)) | values

        text = await run_in_threadpool(
            self.published.read, lambda build, con: self._render(build, "sql.html", "sql", make(build, con))
        )
        return HTMLResponse(text, headers={"Cache-Control": "no-store"} | policy_with_editor(nonce))

    async def answer(self, query: str) -> Answer:
        """Run a query in a process, and return its first rows or its error."""
        build_id = await run_in_threadpool(self.published.build_id)
        async with self.workers.worker(build_id) as worker:
            return await worker.ask(Question(query))

    async def download(self, request: Request) -> Response:
        """Answer with all rows of a query as a file."""
        if is_from_elsewhere(request):
            return self.message(request, "Nothing is run", NOT_RUN, 403)
        form = request.url.path.rpartition(".")[2]
        build_id = await run_in_threadpool(self.published.build_id)
        stack = contextlib.AsyncExitStack()
        worker = await stack.enter_async_context(self.workers.worker(build_id))
        try:
            asked = worker.ask(Question(request.query_params.get("query", ""), form))
            answer = await _while_read(request, asked)
            if answer is None or answer.error is not None:
                await stack.aclose()
                return (
                    self.message(request, "No answer", answer.error or "", 400) if answer else Response(status_code=499)
                )
        except BaseException:
            await stack.aclose()
            raise

        async def body() -> AsyncIterator[bytes]:
            async with stack:
                async for chunk in worker.rest():
                    yield chunk

        headers = {"Content-Disposition": f'attachment; filename="answer.{form}"', "Cache-Control": "no-store"}
        return StreamingResponse(body(), media_type=TYPES[form], headers=headers)

    # Errors

    def message(self, request: Request, heading: str, text: str, status: int, near: str | None = None) -> Response:
        """Answer with a page that says why there is nothing to see; `near` is the key of a dialogue to open instead."""
        values = {"heading": heading, "text": text, "near": near}
        try:
            page = self.published.read(lambda build, _: self._render(build, "message.html", request.url.path, values))
        except Exception:  # nothing is published, or it cannot be read
            return Response(f"{heading}: {text}\n", status_code=status, media_type="text/plain")
        return HTMLResponse(page, status_code=status)

    def refused(self, request: Request, error: Exception) -> Response:
        """Answer an InputError."""
        if isinstance(error, BusyError):
            headers = {"Retry-After": "2", "Cache-Control": "no-store"}
            if "text/html" not in request.headers.get("accept", ""):
                return Response(f"{error}\n", status_code=503, media_type="text/plain", headers=headers)
            page = report.templates().get_template("busy.html").render(text=str(error))
            return HTMLResponse(page, status_code=503, headers=headers)
        near = error.near if isinstance(error, TraceError) else None
        text = error.reason if isinstance(error, UnknownTableError) else str(error)  # the page links all tables
        return self.message(request, "This page cannot be shown", text, 404, near)

    def failed(self, request: Request, failure: str) -> Response:
        """Answer an unexpected error."""
        text = f"{failure}. That is a fault of the program: please report it."
        return self.message(request, "This page failed", text, 500)

    def missing(self, request: Request, error: Exception) -> Response:
        """Answer a URL that has no page."""
        status = error.status_code if isinstance(error, HTTPException) else 404
        heading, text = "Not allowed", "This URL only answers GET."
        if status == 404:
            heading, text = "No such page", "There is no page at this URL."
        response = self.message(request, heading, text, status)
        response.headers.update(getattr(error, "headers", None) or {})
        return response


def _is_kept(request: Request, tag: str) -> bool:
    """Return whether the browser has this version; a proxy that compresses a page marks its tag as weak with `W/`."""
    return tag in (kept.strip().removeprefix("W/") for kept in request.headers.get("if-none-match", "").split(","))


async def _while_read(request: Request, work: Coroutine[Any, Any, Made]) -> Made | None:
    """Return the result of some work, or end it and return None when the reader leaves."""

    async def leaving() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(leaving())
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        watching.cancel()
        if not working.done():
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working


def application(
    paths: WarehousePaths, settings: Settings, host: str = LOOPBACK[0], scores: Path | None = None
) -> Starlette:
    """Return the application that serves a warehouse, under `host`, the names of this machine and of the settings.

    `scores` is a file of `score --to`, whose results have a page.
    """
    site = Site(paths, settings, scores)
    handlers: dict[Any, Callable[[Request, Exception], Response | Awaitable[Response]]] = {
        InputError: site.refused,
        HTTPException: site.missing,
    }
    return Starlette(
        routes=site.routes(),
        middleware=[
            Middleware(Guard, names=(*LOOPBACK, host, *settings.web_hosts)),
            Middleware(LastResort, answer=site.failed),
        ],
        exception_handlers=handlers,
        lifespan=site.running,
    )
