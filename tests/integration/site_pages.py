"""Reading the pages of the server in tests."""

from __future__ import annotations

import re
import urllib.parse
from html.parser import HTMLParser

from starlette.testclient import TestClient

HOME = "http://127.0.0.1:8501"


class Page(HTMLParser):
    """The parts of a page that tests look at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.marked: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._is_marked = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        self._is_marked = tag == "mark"
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))

    def handle_data(self, data: str) -> None:
        if self._is_marked:
            self.marked.append(data)
            self._is_marked = False


def opened(client: TestClient, path: str, status: int = 200, **headers: str) -> str:
    answer = client.get(path, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.text


def asked(client: TestClient, query: str, page: str = "sql", status: int = 200, **more: str) -> str:
    """Return the page, or the download, of a query."""
    return opened(client, f"/{page}?{urllib.parse.urlencode({'query': query} | more)}", status)


def keys_on(text: str) -> list[str]:
    """Return the keys of the list of dialogues."""
    return re.findall(r'<li[^>]*><a href="[^"]*"[^>]*><code>([^<]*)</code></a>', text)


def total_on(text: str) -> int:
    return int(re.search(r'class="shown"[^>]*>([\d,]+)', text)[1].replace(",", ""))


def main_of(text: str) -> str:
    """Return the content of a page, with the URLs of links left out."""
    main = re.search(r"<main.*</main>", text, re.DOTALL)[0]
    main = re.sub(r'<a class="out" href="http://127.0.0.1[^>]*>open</a>', "", main)
    return re.sub(r"\s+", " ", re.sub(r"</?a\b[^>]*>", "", main))
