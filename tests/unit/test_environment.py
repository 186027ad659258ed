"""The process of a command is prepared before anything else: variables, modules, handles, working folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dialogue_warehouse import environment
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE, absolute, in_home

SHOW = """
from dialogue_warehouse import environment
environment.prepare()
import json, os, sys, warnings
print(json.dumps({"variables": dict(os.environ), "path": sys.path, "optimize": sys.flags.optimize,
                  "filters": [one[0] for one in warnings.filters], "encoding": sys.stdout.encoding,
                  "files": sys.getfilesystemencoding(), "arguments": sys.argv, "process": os.getpid()}))
"""
USUAL = {name: value for name, value in os.environ.items() if not environment.OTHER_TOOLS.match(name)}


def start(folder: Path, *command: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=USUAL | variables,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def shown(folder: Path, **variables: str) -> dict:
    """Return the state of a process that has been prepared."""
    ended = start(folder, sys.executable, "-c", SHOW, "an argument", **variables)
    assert (ended.returncode, ended.stderr) == (0, "")
    return json.loads(ended.stdout)


REMOVED = (
    "DBT_DEFER",
    "DBT_ENGINE_STATE",
    "DAGSTER_HOME",
    "GX_HOME",
    "SPARK_HOME",
    "PYSPARK_PYTHON",
)
STAYING = (
    *(
        "DIALOGUE_WAREHOUSE",
        "PYTHONUNBUFFERED",
        "PYTHONHASHSEED",
        "DAGSTER_POSTGRES_URL",
        "SPARK_LOCAL_DIRS",
        "SPARK_LOCAL_IP",
        "JAVA_HOME",
        "TZ",
    ),
    *("HADOOP_CONF_DIR", "SSL_CERT_FILE", "https_proxy", "PYTHON_VERSION", "DBTX", "LC_ALL"),
)


def test_variables_of_other_tools_are_removed_and_documented_ones_are_kept(tmp_path: Path) -> None:
    """Whole prefixes: dbt alone reads hundreds of names."""
    seen = shown(tmp_path, **dict.fromkeys((*REMOVED, *STAYING), "1"))["variables"]
    assert not {*REMOVED} & seen.keys()
    assert {name: seen.get(name) for name in STAYING} == dict.fromkeys(STAYING, "1")


def test_options_of_python_are_removed_by_a_new_start(tmp_path: Path) -> None:
    """Options of Python cannot be changed while it runs: the process starts again, as itself and with its arguments."""
    for name in ("json", "random", "logging", "pipelines", "yaml"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')")
    given = {"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error", "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(tmp_path)}
    seen = shown(tmp_path, **given)
    assert not given.keys() & seen["variables"].keys()
    assert (seen["optimize"], "error" in seen["filters"], seen["encoding"]) == (0, False, "utf-8")
    assert not {str(tmp_path), ""} & {*seen["path"]}
    assert seen["arguments"] == ["-c", "an argument"]


def test_locale_without_unicode_still_uses_utf_8(tmp_path: Path) -> None:
    seen = shown(tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (seen["encoding"], seen["files"]) == ("utf-8", "utf-8")


def test_clean_process_is_not_started_again(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", SHOW], cwd=tmp_path, env=USUAL, stdout=subprocess.PIPE) as process:
        output, _ = process.communicate()
    assert json.loads(output)["process"] == process.pid
    command = ("strace", "-f", "-e", "trace=execve", sys.executable, "-c", SHOW)
    if not Path("/usr/bin/strace").exists():
        pytest.skip("no strace here, which sees a process start")
    assert start(tmp_path, *command).stderr.count("execve(") == 1
    assert start(tmp_path, *command, PYTHONOPTIMIZE="1").stderr.count("execve(") == 2


def test_code_on_pythonpath_is_found_by_children(tmp_path: Path) -> None:
    """A clone that is not installed, such as a copy; a child process runs the same code as its parent."""
    package = tmp_path / environment.PACKAGE
    package.mkdir()
    for name in ("__init__.py", "environment.py"):
        (package / name).write_bytes((CLONE / environment.PACKAGE / name).read_bytes())
    where = f"{SHOW}\nprint(environment.__file__)"
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import dialogue_warehouse as d; print(d.__file__)'])"
    for variables in ({"PYTHONPATH": str(tmp_path)}, {"PYTHONOPTIMIZE": "1"}):
        ended = start(tmp_path, sys.executable, "-c", f"{where}\nsys.stdout.flush()\n{child}", **variables)
        assert ended.stdout.splitlines()[1:] == [str(package / "environment.py"), str(package / "__init__.py")]
    (tmp_path / "else").mkdir()
    ended = start(tmp_path / "else", sys.executable, "-c", f"{where}\nsys.stdout.flush()\n{child}")
    assert ended.stdout.splitlines()[1].startswith(str(CLONE))


def test_dbt_does_not_see_its_variables_in_a_process_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """`dagster dev` has its own variables, and those of the shell that started it."""
    monkeypatch.setenv("DBT_DEFER", "1")
    monkeypatch.setenv("DAGSTER_HOME", "/home")
    with environment.without_dbt():
        assert "DBT_DEFER" not in os.environ
        assert os.environ["DAGSTER_HOME"] == "/home"
    assert os.environ["DBT_DEFER"] == "1"
    assert not {"DBT_DEFER", "DAGSTER_HOME"} & environment.own_variables().keys()


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_handle_is_not_reused_for_a_file(closed: str, tmp_path: Path) -> None:
    """An opened database gets the lowest free number, and printed text would be written into it."""
    code = (
        "from dialogue_warehouse import environment; environment.prepare()\n"
        "import subprocess, sys\n"
        "opened = open('opened', 'w')\n"
        "print('printed', flush=True); print('reported', file=sys.stderr, flush=True)\n"
        "sys.stdin.read()\n"
        "subprocess.run(['sh', '-c', 'echo child; echo reported >&2'])\n"
        "opened.write(str(opened.fileno() > 2))"
    )
    (tmp_path / "code.py").write_text(code)
    ended = start(tmp_path, "sh", "-c", f"exec {sys.executable} code.py {closed}", PYTHONPATH=str(CLONE))
    assert ended.returncode == 0
    assert ended.stdout == ("" if " >&-" in f" {closed}" else "printed\nchild\n")
    assert ended.stderr == ("" if "2>&-" in closed else "reported\nreported\n")
    assert (tmp_path / "opened").read_text() == "True"


@pytest.mark.parametrize("module", ["dialogue_warehouse"])
def test_missing_working_folder_is_reported_in_one_line(module: str, tmp_path: Path) -> None:
    script = f"mkdir gone && cd gone && rmdir ../gone && exec {sys.executable} -m {module} status"
    ended = start(tmp_path, "sh", "-c", script)
    message = "error: the working folder cannot be used: No such file or directory; change to another one\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", message)


def test_missing_home_is_reported_if_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may run with a user id that has no name and no `HOME`."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    with pytest.raises(InputError, match=r"^~/warehouse: this user has no home folder"):
        absolute(Path("~/warehouse"))
    assert absolute(Path("/warehouse")) == Path("/warehouse")
    assert not in_home("~/.cache").exists()
    with pytest.raises(InputError, match="no home folder"):
        absolute(Path("~nosuchuser/warehouse"))
