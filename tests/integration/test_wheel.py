"""The wheel, installed outside the clone: with all extras it builds; without extras it reads existing builds."""

from __future__ import annotations

import functools
import http.server
import importlib.metadata
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import threading
import urllib.request
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from dialogue_warehouse.paths import CLONE

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("DIALOGUE_", "PYTHON"))}


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command; return its output. Fails with its errors."""
    ended = subprocess.run(
        command, cwd=cwd, env=ENVIRONMENT | {"HOME": str(cwd)}, capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    return ended


PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
FOLDERS = ("dialogue_warehouse", "pipelines", "expectations", "dbt_project", "warehouse/queries")
LIGHT_PACKAGES, LIGHT_MEGABYTES = 24, 130
"""Distributions and their maximum size, in an environment that only reads."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of this clone, made from a temporary copy."""
    folder = tmp_path_factory.mktemp("wheel")
    clone = folder / "clone"
    clone.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CLONE / name, clone)
    for name in FOLDERS:
        shutil.copytree(CLONE / name, clone / name, ignore=shutil.ignore_patterns("__pycache__", "target", "logs"))
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, clone, cwd=folder)
    shutil.rmtree(clone)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> tuple[Path, Path]:
    """Make an environment with only the wheel; return its command, and its folder of packages."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    run(*PIP, "--python", python, "install", "--no-deps", "--no-index", "--force-reinstall", wheel, cwd=folder)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    return folder / "bin" / "dialogue-warehouse", site_packages


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the command of an environment with the wheel and all libraries of this environment."""
    command, site_packages = install(wheel, tmp_path_factory.mktemp("full"))
    # Python searches a folder named in a .pth file, but ignores the .pth files of editable installations in it.
    (site_packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return command


def required(requirements: Iterable[str]) -> set[str]:
    """Return the distributions that these requirements need, without any extra, and their own requirements."""
    names, waiting = set(), [Requirement(text) for text in requirements]
    while waiting:
        needed = waiting.pop()
        if needed.name not in names and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            names.add(needed.name)
            waiting += [Requirement(text) for text in importlib.metadata.requires(needed.name) or ()]
    return names


@pytest.fixture(scope="module")
def light(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the command of an environment with only what `pip install` installs without extras, linked from here."""
    command, site_packages = install(wheel, tmp_path_factory.mktemp("light"))
    (own,) = importlib.metadata.distributions(name="dialogue-warehouse", path=[str(site_packages)])
    names = required(own.requires or ())
    files = [file for name in names for file in importlib.metadata.files(name) or () if file.parts[0] != ".."]
    assert len(names) <= LIGHT_PACKAGES
    assert sum(file.locate().stat().st_size for file in files if file.locate().is_file()) < LIGHT_MEGABYTES * 10**6
    for top in {file.parts[0] for file in files} - {"__pycache__"}:
        (site_packages / top).symlink_to(Path(sysconfig.get_path("purelib")) / top)
    return command


def test_wheel_builds_answers_and_reports_outside_the_clone(command: Path, tmp_path: Path) -> None:
    python = command.with_name("python")
    place = run(
        python, "-c", "import dialogue_warehouse.paths; print(dialogue_warehouse.paths.CLONE)", cwd=tmp_path
    ).stdout.strip()
    assert Path(place).is_relative_to(command.parent.parent)
    installed = sorted(Path(place).rglob("*"))
    built = run(command, "build", cwd=tmp_path).stdout
    assert f"published {tmp_path}/warehouse/dialogues.duckdb" in built
    answer = run(command, "sql", "--csv", "select count(distinct corpus_id) as n from core.fct_turns", cwd=tmp_path)
    assert int(answer.stdout.splitlines()[1]) > 1
    shutil.rmtree(tmp_path / "warehouse/reports")
    run(command, "report", cwd=tmp_path)
    assert (tmp_path / "warehouse/reports/index.html").is_file()
    assert (tmp_path / "warehouse/reports/dbt.html").is_file()
    left = [path for path in sorted(Path(place).rglob("*")) if "__pycache__" not in path.parts]
    assert left == [path for path in installed if "__pycache__" not in path.parts]


ABSENT = ("dagster", "dbt", "great_expectations", "pandas", "pyarrow", "pycurl", "requests", "sqlalchemy")


def test_reading_environment_has_no_libraries_for_builds(light: Path, tmp_path: Path) -> None:
    code = "import importlib.util, sys; print([name for name in sys.argv[1:] if importlib.util.find_spec(name)])"
    assert run(light.with_name("python"), "-c", code, *ABSENT, cwd=tmp_path).stdout.strip() == "[]"


def test_warehouse_that_was_built_elsewhere_is_read(light: Path, sample_folder: Path, tmp_path: Path) -> None:
    """Only the requirements of reading are installed: every command that reads works, and changes no build."""
    folder = tmp_path / "warehouse"
    shutil.copytree(sample_folder, folder, ignore=shutil.ignore_patterns("reports"))

    def asked(*arguments: str | Path) -> str:
        return run(light, *arguments, "--warehouse", folder, cwd=tmp_path).stdout

    count = "select count(*) as n from core.fct_turns"
    assert int(asked("sql", "--csv", count).splitlines()[1]) > 1000
    key = asked("sql", "--csv", "select min(turn_key) from core.fct_turns where utterance <> ''").splitlines()[1]
    assert json.loads(asked("sql", "--json", f"select '{key}' as k")) == [{"k": key}]
    assert "fct_turns" in asked("tables")
    assert "utterance" in asked("describe", "fct_turns")
    assert key.rpartition("/")[0] in asked("show", key)
    assert "<html" in asked("show", key, "--html")
    assert json.loads(asked("trace", key, "--json"))["json_pointer"].startswith("/")
    assert json.loads(asked("claims", "--json"))
    assert json.loads(asked("violations", "--json"))
    corpus_id = key.partition("/")[0]
    asked("restore", "--corpus", corpus_id, "--to", tmp_path / "restored")
    assert any((tmp_path / "restored").rglob("*.json*"))
    assert corpus_id in asked("verify")
    reported = asked(
        "export", "--form", "chat", "--to", tmp_path / "chat", "--where", "turn_count > 1", "--sample", "20"
    )
    lines = [line for path in (tmp_path / "chat").rglob("*.jsonl") for line in path.read_text("utf-8").split("\n")[:-1]]
    assert f"{len(lines)} examples in " in reported
    assert all(json.loads(line)["messages"] for line in lines)
    asked("keep")
    assert "pinned" in asked("status")
    assert f"open {folder}/reports/index.html" in asked("report")
    assert (folder / "reports/dbt.html").is_file()
    assert [path.name for path in (light.parent.parent / "share/dialogue-warehouse/queries").glob("*.sql")]


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("build",), "build"),
        (("fetch",), "build"),
        (("sql", "select 1 as one", "--parquet", "one.parquet"), "arrow"),
        (("sql", "select 1 as one", "--format", "parquet"), "arrow"),
    ],
)
def test_missing_extra_is_named_in_one_line(
    light: Path, sample_folder: Path, tmp_path: Path, arguments: tuple[str, ...], extra: str
) -> None:
    """No work is begun: no folder is made, no file is written."""
    where = tmp_path / "new" if extra == "build" else sample_folder
    ended = subprocess.run(
        [light, *arguments, "--warehouse", where], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("error: ")
    assert ended.stderr.endswith(f"`pip install 'dialogue-warehouse[{extra}]'` installs it\n")
    assert ended.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_light_install_serves_the_dashboard(light: Path, sample_folder: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [light, "dashboard", "--warehouse", sample_folder, "--port", str(port)]
    with subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout.readline().startswith(f"http://127.0.0.1:{port} ")
            for page, expected in (("", "dialogues"), ("answer.csv?query=select+42+as+n", "n\n42\n")):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=60) as answer:
                    assert expected in answer.read().decode()
        finally:
            serving.terminate()


def test_help_of_a_package_does_not_mention_a_clone(light: Path, tmp_path: Path) -> None:
    listed = run(light, "--help", cwd=tmp_path).stdout.partition("Commands:")[2]
    names = re.findall(r"^  ([a-z-]+)", listed, flags=re.M)
    assert len(names) > 15
    for name in set(names) - {"new-corpus", "check-corpus"}:
        assert "clone" not in run(light, name, "--help", cwd=tmp_path).stdout


def blocks_of_the_release_page() -> list[str]:
    return re.findall(r"^```bash\n(.*?)^```", (CLONE / "docs" / "release.md").read_text(encoding="utf-8"), re.M | re.S)


def checks(wheel: Path) -> list[subprocess.CompletedProcess[str]]:
    """Run the two checks of the release page on a wheel."""
    commands = [
        line.strip("()").removeprefix("cd clone && ") for line in blocks_of_the_release_page()[0].splitlines()[2:]
    ]
    assert [command.split()[0] for command in commands] == ["twine", "check-wheel-contents"]
    folder = Path(sys.executable).parent
    return [
        subprocess.run([folder / tool, *options, wheel], cwd=CLONE, env=ENVIRONMENT, capture_output=True, text=True)
        for tool, *options in (command.split()[:-1] for command in commands)
    ]


def test_wheel_passes_the_checks_of_a_release(wheel: Path) -> None:
    for ended in checks(wheel):
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_checks_of_a_release_find_a_wheel_without_a_module_and_a_description(wheel: Path, tmp_path: Path) -> None:
    broken = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(broken, "w") as part:
        for name in whole.namelist():
            if not name.endswith("dialogue_warehouse/paths.py"):
                content = whole.read(name)
                if name.endswith("/METADATA"):
                    content = content.partition(b"\n\n")[0].replace(b"text/markdown", b"text/x-rst") + b"\n\n"
                if name.endswith("/RECORD"):
                    content = re.sub(rb"(?m)^dialogue_warehouse/paths\.py,.*\n", b"", content)
                part.writestr(name, content)
    assert [ended.returncode != 0 for ended in checks(broken)] == [True, True]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder without a log."""

    def log_message(self, *_arguments: object) -> None:
        """Write nothing."""


def test_released_warehouse_is_opened_by_its_url(light: Path, sample_folder: Path, tmp_path: Path) -> None:
    """The commands of the release page make the folder; the installed wheel reads it without the warehouse."""
    (tmp_path / "warehouse").symlink_to(sample_folder)
    (tmp_path / "release").mkdir()
    (tmp_path / "release/dialogues.duckdb").write_text("of an earlier release")
    (tmp_path / "earlier").hardlink_to(tmp_path / "release/dialogues.duckdb")
    run(
        "bash", "-e", "-c", f"PATH={Path(sys.executable).parent}:$PATH\n{blocks_of_the_release_page()[1]}", cwd=tmp_path
    )
    assert (tmp_path / "earlier").read_text() == "of an earlier release"  # it is read-only, so it must not be opened
    assert json.loads((tmp_path / "release/dialogues.manifest.json").read_text())["build_id"]
    handler = functools.partial(Quiet, directory=tmp_path / "release")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/dialogues.duckdb"
        claims = run(light, "claims", "--json", "--warehouse", url, cwd=tmp_path)
        assert (json.loads(claims.stdout)[0].keys() >= {"claim_id", "verdict"}, claims.stderr) == (True, "")
        key = json.loads(claims.stdout)[0]["corpus_id"]
        code = (
            "import sys, dialogue_warehouse as dw\n"
            "with dw.open(sys.argv[1]) as w: print(min(w.dialogues(corpus=sys.argv[2]).keys))"
        )
        key = run(light.with_name("python"), "-W", "error", "-c", code, url, key, cwd=tmp_path).stdout.strip()
        shown = run(light, "show", key, "--warehouse", url, cwd=tmp_path).stdout
        assert shown.startswith(key)
        server.shutdown()
