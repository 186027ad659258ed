"""The recipients in the settings get one message for a failure and one for the recovery, without any secret."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import shutil
import threading
import urllib.parse
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings, SettingsError
from dialogue_warehouse.storage import checked, health, ownership
from pipelines.building import alerts
from pipelines.ingestion.connections import ascii_url, host_of
from tests.conftest import run_command
from tests.integration.downloads import Web
from tests.unit.published import BUILD, make_build

SECRET = "T0/B1/xyzzy"


class Hook(http.server.BaseHTTPRequestHandler):
    """Webhook that records its messages, and answers with the status of the class."""

    received: list[dict[str, Any]]
    status = 200
    location = "http://127.0.0.1:1/"

    def do_POST(self) -> None:
        self.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.status)
        self.send_header("Location", self.location)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def hook() -> Iterator[tuple[type[Hook], str]]:
    """Return a webhook of this machine: its recorded messages, and its URL."""

    class Own(Hook):
        pass

    Own.received = []

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Own) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield Own, f"http://127.0.0.1:{server.server_port}/services/{SECRET}"
        server.shutdown()


@pytest.fixture
def paths(tmp_path: Path) -> WarehousePaths:
    paths = WarehousePaths(tmp_path / "warehouse")
    ownership.claim(paths)
    return paths


def test_no_alert_is_sent_for_a_folder_that_is_not_a_warehouse(tmp_path: Path, hook: tuple[type[Hook], str]) -> None:
    (tmp_path / "mine.txt").touch()
    assert alerts.tell_failure(WarehousePaths(tmp_path), Settings(alert_webhook=hook[1]), "x: y") is None
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]
    assert hook[0].received == []


def written(paths: WarehousePaths) -> list[dict[str, Any]]:
    """Return the lines of the file."""
    return [json.loads(line) for line in paths.alerts.read_text(encoding="utf-8").splitlines()]


def test_failure_and_recovery_are_each_reported_once(paths: WarehousePaths, hook: tuple[type[Hook], str]) -> None:
    settings = Settings(warehouse=paths.root, alert_webhook=hook[1])
    alerts.tell_success(paths, settings)
    assert not paths.alerts.exists()  # no failure was reported
    for _ in range(3):
        alerts.tell_failure(paths, settings, "sgd: S01: dialogues (critical): 3, expected 4; such as sgd/dev/x.json /7")
    alerts.tell_failure(paths, settings, "abcd/x.json: is not JSON")  # another failure
    for _ in range(2):
        alerts.tell_success(paths, settings)
    texts = [message["text"] for message in hook[0].received]
    assert [line["text"] for line in written(paths)] == texts
    assert [line["kind"] for line in written(paths)] == ["failure", "failure", "recovery"]
    assert texts[0] == (
        f"The build of {paths.root} has failed.\n"
        "sgd: S01: dialogues (critical): 3, expected 4; such as sgd/dev/x.json /7\npublished: nothing yet"
    )
    assert "is not JSON" in texts[1]
    assert f"The build of {paths.root} succeeds again.\nIt had failed since 20" in texts[2]
    alerts.tell_failure(paths, settings, "abcd/x.json: is not JSON")  # the same again, later
    assert len(hook[0].received) == 4


@pytest.mark.parametrize("status", [301, 403, 500])
def test_refusing_server_is_reported_and_fails_no_build(
    paths: WarehousePaths, hook: tuple[type[Hook], str], status: int
) -> None:
    hook[0].status = status
    alerts.tell_failure(paths, Settings(warehouse=paths.root, alert_webhook=hook[1]), "x: y")
    assert written(paths)[0]["undelivered"] == [f"webhook: {host_of(hook[1])} responded with {status}"]


URLS = [
    "http://127.0.0.1:1/services/T0/B1/xyzzy-plugh",
    "http://127.0.0.1:1/services/%540/B1/xyzzy-plugh",
    "http://127.0.0.1:1/a/../services/./T0/B1/xyzzy-plugh",
    "http://127.0.0.1:1/services//T0/B1/xyzzy-plugh/",
    "http://127.0.0.1:1/sérvices/T0/B1/xyzzy-plugh",
    "http://127.0.0.1:1/s%C3%A9rvices/T0/B1/xyzzy-plugh",
    "http://127.0.0.1:1/s%c3%a9rvices/T0/B1/xyzzy-plugh",
    "http://127.0.0.1:1/services/T0 B1/xyzzy-plugh",
    "http://127.0.0.1:1/services/T0/B1/xyzzy-plugh;v=1",
    "http://127.0.0.1:1/?b=xyzzy-plugh&a=T0/B1",
    "http://127.0.0.1:1/hook?token=xyzzy-pl%75gh#T0/B1",
    "http://xyzzy-plugh:T0%2FB1@127.0.0.1:1/hook",
    "HTTP://127.0.0.1:1/Services/T0/B1/XYZZY-plugh",
    "http://nowhere.invalid:1/T0/B1/xyzzy-plugh",
    "http://xn--nwhere-xxa.invalid/T0/B1/xyzzy-plugh",
    "http://nöwhere.invalid/T0/B1/xyzzy-plugh",
    "http://*.invalid/T0/B1/xyzzy-plugh",
    "https://127.0.0.1:1/T0/B1/xyzzy-plugh",
    "http://[::1]:1/T0/B1/xyzzy-plugh",
]


@pytest.mark.parametrize("url", URLS)
def test_no_spelling_of_a_webhook_is_recorded(
    paths: WarehousePaths, url: str, no_proxy_of_the_machine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client writes URLs in its own form, in errors too: neither its texts nor other spellings are recorded."""
    monkeypatch.setenv("DIALOGUE_ALERT_WEBHOOK", url)
    settings = Settings.from_environment(warehouse=paths.root)
    other_spellings = " ".join((url, urllib.parse.unquote(url), ascii_url(url)))
    alerts.tell_failure(paths, settings, f"x: {other_spellings}: no answer")
    alerts.tell_success(paths, settings)
    text = paths.alerts.read_text()
    assert [len(line["undelivered"]) for line in written(paths)] == [1, 1]
    for secret in ("xyzzy", "plugh", "%7a"):
        assert secret not in text.casefold(), text
    assert "no answer" in text


def test_redirect_does_not_carry_the_secret_elsewhere(
    paths: WarehousePaths, hook: tuple[type[Hook], str], web: Web
) -> None:
    hook[0].status = 307
    hook[0].location = f"{web.url}/elsewhere"
    alerts.tell_failure(paths, Settings(warehouse=paths.root, alert_webhook=hook[1]), "x: y")
    assert written(paths)[0]["undelivered"] == [f"webhook: {host_of(hook[1])} responded with 307"]
    assert web.asked == []


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "pipe that is read", "folder"])
def test_invalid_alerts_file_is_rejected_and_the_message_is_still_sent(
    paths: WarehousePaths, hook: tuple[type[Hook], str], kind: str
) -> None:
    """A link would write into another file, and a pipe without a reader would block the build."""
    own = paths.root.parent / "of another"
    if kind == "link":
        own.write_text("mine")
    with contextlib.ExitStack() as stack:
        if "link" in kind:
            paths.alerts.symlink_to(own)
        elif "pipe" in kind:
            os.mkfifo(paths.alerts)
            if kind == "pipe that is read":
                stack.callback(os.close, os.open(paths.alerts, os.O_RDONLY | os.O_NONBLOCK))
        else:
            paths.alerts.mkdir()
        notice = alerts.tell_failure(paths, Settings(warehouse=paths.root, alert_webhook=hook[1]), "x: y")
    assert notice == f"{paths.alerts}: an alert could not be recorded: a link, or not a regular file; remove it"
    assert len(hook[0].received) == 1
    assert own.exists() == (kind == "link")
    assert kind != "link" or own.read_text() == "mine"


def test_alert_is_sent_if_no_file_can_be_written(paths: WarehousePaths, hook: tuple[type[Hook], str]) -> None:
    """For example on a full disk: the person who can free space must get the message."""
    paths.trouble.mkdir()
    (paths.trouble / "x").touch()
    paths.alerts.mkdir()
    assert alerts.tell_failure(paths, Settings(warehouse=paths.root, alert_webhook=hook[1]), "x: y") is not None
    assert "x: y" in hook[0].received[0]["text"]


def test_name_of_the_warehouse_is_escaped(tmp_path: Path, hook: tuple[type[Hook], str]) -> None:
    """Regression: a sequence for the terminal in the name stood in the message as it is."""
    paths = WarehousePaths(tmp_path / "a\x1b[31m")
    assert alerts.tell_failure(paths, Settings(warehouse=paths.root, alert_webhook=hook[1]), "x: y") is None
    assert hook[0].received[0]["text"].startswith(f"The build of {tmp_path}/a\\x1b[31m has failed.\nx: y\n")


def test_long_line_is_not_truncated_inside_a_secret(paths: WarehousePaths) -> None:
    settings = Settings(warehouse=paths.root, mirror="https://user:hunter22@m.example/x")
    for length in range(alerts.LONGEST - 12, alerts.LONGEST):
        alerts.tell_failure(paths, settings, f"{'x' * length}hunter22")
    assert "hunt" not in paths.alerts.read_text()


def test_no_message_contains_a_secret(paths: WarehousePaths) -> None:
    """The library's errors contain the URL of a dead webhook, and an error can contain a password."""
    settings = Settings(
        warehouse=paths.root,
        alert_webhook=f"http://127.0.0.1:1/services/{SECRET}?token=plugh",
        alert_smtp="smtp://anna:pass%20word@127.0.0.1:1",
        alert_to=("b@b.example",),
        mirror="https://user:hunter22@m.example/x",
    )
    alerts.tell_failure(
        paths, settings, f"{settings.mirror}: no such file; anna, pass word and {settings.alert_webhook}\x1b[31m"
    )
    text = paths.alerts.read_text() + paths.trouble.read_text()
    assert [place.partition(":")[0] for place in written(paths)[0]["undelivered"]] == ["webhook", "mail"]
    for secret in (SECRET, "plugh", "pass word", "pass%20word", "hunter22", "\x1b", r"\u001b"):
        assert secret not in text
    assert "no such file" in text


def test_long_error_is_truncated(paths: WarehousePaths) -> None:
    alerts.tell_failure(paths, Settings(warehouse=paths.root), "\n".join(f"{n} " + "x" * 9_000 for n in range(300)))
    (line,) = written(paths)
    assert "and 288 more lines" in line["text"]
    assert len(line["text"]) < 10_000


def test_damaged_alerts_file_is_ignored(paths: WarehousePaths) -> None:
    paths.trouble.write_text("{")
    alerts.tell_failure(paths, Settings(warehouse=paths.root), "x: y")
    alerts.tell_success(paths, Settings(warehouse=paths.root))
    assert [line["kind"] for line in written(paths)] == ["failure", "recovery"]


def test_message_that_reached_no_recipient_is_sent_again(paths: WarehousePaths, hook: tuple[type[Hook], str]) -> None:
    """The failure of a network ends a download, and the message about it: the next build sends it again."""
    settings = Settings(warehouse=paths.root, alert_webhook=hook[1])
    hook[0].status = 500
    for _ in range(2):
        alerts.tell_failure(paths, settings, "abcd: no answer")
    hook[0].status = 200
    for _ in range(2):
        alerts.tell_failure(paths, settings, "abcd: no answer")
    assert len(hook[0].received) == 3
    assert [len(line["undelivered"]) for line in written(paths)] == [1, 1, 0]
    trouble = health.read_trouble(paths.trouble)
    assert trouble is not None
    assert trouble.since <= trouble.at


def test_recovery_that_reached_no_recipient_is_reported_again(
    paths: WarehousePaths, hook: tuple[type[Hook], str]
) -> None:
    """Regression: the failure was forgotten before its end was sent, so no one who got it heard that builds succeed again."""
    settings = Settings(warehouse=paths.root, alert_webhook=hook[1])
    alerts.tell_failure(paths, settings, "abcd: x")
    for status in (500, 500, 200, 200):
        hook[0].status = status
        alerts.tell_success(paths, settings)
        assert health.last_attempt(paths) is None  # `status` does not report a failure that is over
    assert [(line["kind"], len(line["undelivered"])) for line in written(paths)] == [
        *(("failure", 0), ("recovery", 1), ("recovery", 1), ("recovery", 0))
    ]
    alerts.tell_failure(paths, settings, "abcd: x")
    hook[0].status = 500
    alerts.tell_success(paths, settings)
    hook[0].status = 200
    alerts.tell_failure(paths, settings, "abcd: x")  # it fails again before the recovery is reported
    assert [line["kind"] for line in written(paths)][-3:] == ["failure", "recovery", "failure"]


def silent_since(paths: WarehousePaths, hours: float) -> None:
    """Record a check that finished this number of hours ago."""
    at = datetime.now(UTC) - timedelta(hours=hours)
    paths.checked.write_text(json.dumps({"at": at.isoformat(timespec="seconds")}))


def test_silence_is_reported_once_and_so_is_its_end(paths: WarehousePaths, hook: tuple[type[Hook], str]) -> None:
    settings = Settings(warehouse=paths.root, alert_webhook=hook[1])
    assert alerts.tell_silence(paths, settings) == (None, None)
    silent_since(paths, 47)
    assert alerts.tell_silence(paths, settings) == (None, None)
    silent_since(paths, 49)
    hook[0].status = 500
    for status in (500, 200, 200):  # what reached no recipient is sent again, and nothing else
        hook[0].status = status
        problem, unrecorded = alerts.tell_silence(paths, settings)
        assert problem is not None
        assert (problem.kind, unrecorded) == ("no_check", None)
    checked.record_check(paths)
    for status in (500, 200, 200):
        hook[0].status = status
        assert alerts.tell_silence(paths, settings) == (None, None)
    assert [line["kind"] for line in written(paths)] == ["silence", "silence", "recovery", "recovery"]
    first, again, over, over_again = (message["text"] for message in hook[0].received)
    assert (first, over) == (again, over_again)
    assert (
        f"The warehouse {paths.root} has not been checked for more than 48 hours (DIALOGUE_HEARTBEAT_HOURS)." in first
    )
    assert problem.text in first
    assert over.startswith(f"The warehouse {paths.root} is checked again.\nBefore that, no check of the source has")
    silent_since(paths, 100)  # later it falls silent again
    alerts.tell_silence(paths, settings)
    assert len(hook[0].received) == 5


def test_failing_builds_and_silence_are_separate_states(paths: WarehousePaths, hook: tuple[type[Hook], str]) -> None:
    settings = Settings(warehouse=paths.root, alert_webhook=hook[1])
    silent_since(paths, 100)
    alerts.tell_failure(paths, settings, "abcd: x")
    alerts.tell_silence(paths, settings)
    alerts.tell_success(paths, settings)
    checked.record_check(paths)
    alerts.tell_silence(paths, settings)
    assert [line["kind"] for line in written(paths)] == ["failure", "silence", "recovery", "recovery"]


def test_command_reports_silence_without_any_process_of_dagster(
    paths: WarehousePaths, hook: tuple[type[Hook], str], tmp_path: Path
) -> None:
    """The daemon was killed days ago, and nothing of Dagster is left: only a timer of the system calls the command."""
    make_build(paths)
    paths.published.write_bytes(paths.build_database(BUILD).read_bytes())
    silent_since(paths, 30)
    command = ("status", "--alert", "--warehouse", paths.root)
    variables = {"DIALOGUE_ALERT_WEBHOOK": hook[1]}
    assert run_command(*command, **variables).returncode == 0
    for _ in range(2):
        late = run_command(*command, DIALOGUE_HEARTBEAT_HOURS="24", **variables)
        assert (late.returncode, late.stderr) == (1, "")
        assert "problem    no check of the source has finished since 20" in late.stdout
    assert not paths.dagster_home.exists()
    as_json = json.loads(run_command(*command, "--json", DIALOGUE_HEARTBEAT_HOURS="24").stdout)
    assert [problem["kind"] for problem in as_json["problems"]] == ["no_check"]
    plain = run_command("status", "--warehouse", paths.root, DIALOGUE_HEARTBEAT_HOURS="24", **variables)
    assert plain.returncode == 0  # a warehouse that is built by hand needs no timer
    assert len(hook[0].received) == 1
    checked.record_check(paths)
    assert run_command(*command, DIALOGUE_HEARTBEAT_HOURS="24", **variables).returncode == 0
    assert "is checked again" in hook[0].received[1]["text"]
    nothing = run_command("status", "--alert", "--warehouse", tmp_path / "unmounted", **variables)
    error = f"error: {tmp_path / 'unmounted'}: is not a warehouse; mount its disk, or name another folder with "
    assert (nothing.returncode, nothing.stderr) == (2, f"{error}--warehouse\n")
    assert not (tmp_path / "unmounted").exists()


def test_command_reports_a_failure_and_the_recovery(
    sample_folder: Path, tmp_path: Path, hook: tuple[type[Hook], str]
) -> None:
    paths = WarehousePaths(shutil.copytree(sample_folder, tmp_path / "warehouse"))
    (tmp_path / "releases" / "sgd" / "dev").mkdir(parents=True)
    (tmp_path / "releases" / "sgd" / "dev" / "dialogues_001.json").write_text('[{"dialogue_id": ')
    cut = ["build", "--warehouse", paths.root, "--source", tmp_path / "releases", "--replace", "--corpora", "sgd"]
    for _ in range(2):
        failed = run_command(*cut, DIALOGUE_ALERT_WEBHOOK=hook[1])
        assert failed.returncode == 2, failed.stderr
    (failure,) = hook[0].received
    assert "sgd/dev/dialogues_001.json: " in failure["text"]
    assert f"report: {paths.reports / 'index.html'}" in failure["text"]
    assert "published: build 20" in failure["text"]
    assert SECRET not in failed.stderr
    well = run_command("build", "--warehouse", paths.root, DIALOGUE_ALERT_WEBHOOK=hook[1])
    assert well.returncode == 0, well.stderr
    assert [line["kind"] for line in written(paths)] == ["failure", "recovery"]
    assert "succeeds again" in hook[0].received[1]["text"]
    paths.alerts.unlink()
    os.mkfifo(paths.alerts)
    unrecorded = f"notice: {paths.alerts}: an alert could not be recorded: a link, or not a regular file; remove it"
    failed = run_command(*cut, DIALOGUE_ALERT_WEBHOOK=hook[1])
    well = run_command("build", "--warehouse", paths.root, DIALOGUE_ALERT_WEBHOOK=hook[1])
    assert (failed.returncode, well.returncode) == (2, 0)
    assert unrecorded in failed.stderr
    assert unrecorded in well.stdout + well.stderr
    assert len(hook[0].received) == 4


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "ALERT_WEBHOOK",
            "ftp://secret@host/x",
            "DIALOGUE_ALERT_WEBHOOK: not a URL of the form http://HOST or https://HOST",
        ),
        ("ALERT_SMTP", "mail.example", "DIALOGUE_ALERT_SMTP: not a URL of the form smtp://HOST or "),
        (
            "ALERT_SMTP",
            "smtp://anna:12/secret@mail.example",
            "DIALOGUE_ALERT_SMTP: not a URL of the form smtp://HOST or ",
        ),
        (
            "ALERT_SMTP",
            "smtp://anna:12#secret@mail.example",
            "DIALOGUE_ALERT_SMTP: not a URL of the form smtp://HOST or ",
        ),
        ("ALERT_SMTP", "smtp://mail.example", "DIALOGUE_ALERT_TO: names no recipient"),
        ("ALERT_TO", "ä@b.example", "DIALOGUE_ALERT_TO: 'ä@b.example' is not an email address"),
        ("ALERT_TO", "a@bücher.example", "DIALOGUE_ALERT_TO: 'a@bücher.example' is not an email address"),
        ("ALERT_TO", 'a"b@b.example', "DIALOGUE_ALERT_TO: 'a\"b@b.example' is not an email address"),
        ("ALERT_FROM", "a:b;@b.example", "DIALOGUE_ALERT_FROM: 'a:b;@b.example' is not an email address"),
        ("ALERT_TO", "anna", "DIALOGUE_ALERT_TO: 'anna' is not an email address"),
        ("ALERT_FROM", "a@b\nBcc: c@d", "DIALOGUE_ALERT_FROM: "),
        ("CRON", "every day", "DIALOGUE_CRON: 'every day' is not a time such as"),
        ("TIMEZONE", "Mars/Olympus", "DIALOGUE_TIMEZONE: 'Mars/Olympus' is not a time zone"),
        ("TIMEZONE", "../../etc/passwd", "DIALOGUE_TIMEZONE: "),
        ("HEARTBEAT_HOURS", "0", "DIALOGUE_HEARTBEAT_HOURS: '0' is not a positive number of hours"),
    ],
)
def test_invalid_settings_are_rejected(monkeypatch: pytest.MonkeyPatch, name: str, text: str, message: str) -> None:
    monkeypatch.setenv(f"DIALOGUE_{name}", text)
    with pytest.raises(SettingsError) as raised:
        Settings.from_environment()
    assert str(raised.value).startswith(message)
    assert "secret" not in str(raised.value)
    assert issubclass(SettingsError, InputError)
