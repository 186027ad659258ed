"""The surroundings of other programs change no command: variables, modules and files in the working folder.

Every variable and every file here has a name that a library of this project reads. If a surrounding makes a command
impossible, one line names it.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import duckdb
import pytest

from tests.conftest import rows
from tests.integration.refusing import refusing

COMMAND = Path(sys.executable).with_name("dialogue-warehouse")
CORPUS = "bbai"
OF_DBT = {
    **{
        "PROFILE": "other",
        "TARGET": "prod",
        "PROFILES_DIR": "/nowhere",
        "PROJECT_DIR": "/nowhere",
        "STATE": "/nowhere",
    },
    **{
        "DEFER": "1",
        "STORE_FAILURES": "1",
        "SINGLE_THREADED": "1",
        "EMPTY": "1",
        "FULL_REFRESH": "1",
        "FAIL_FAST": "1",
    },
    **{"WARN_ERROR": "1", "SAMPLE": "3 days", "EVENT_TIME_START": "2020-01-01", "EVENT_TIME_END": "2020-01-02"},
    **{"LOG_LEVEL": "debug", "LOG_FORMAT": "json", "LOG_PATH": "/nowhere", "LOG_CACHE_EVENTS": "1", "QUIET": "0"},
    **{"INDIRECT_SELECTION": "cautious", "RESOURCE_TYPES": "seed", "EXCLUDE_RESOURCE_TYPES": "model"},
    **{"CACHE_SELECTED_ONLY": "1", "STATIC_PARSER": "0", "PARTIAL_PARSE": "0", "VERSION_CHECK": "1", "DEBUG": "1"},
    **{"ENV_CUSTOM_ENV_TEAM": "other", "ENV_SECRET_TOKEN": "hidden", "MACRO_DEBUGGING": "1", "RECORDER_MODE": "replay"},
}
"""Variables that dbt reads, as DBT_… and as DBT_ENGINE_….

https://docs.getdbt.com/reference/global-configs/about-global-configs
"""
OF_OTHERS = {
    **{f"{prefix}{name}": value for name, value in OF_DBT.items() for prefix in ("DBT_", "DBT_ENGINE_")},
    **{"DAGSTER_HOME": "/nowhere", "DAGSTER_IS_DEV_CLI": "1", "GX_HOME": "/nowhere", "GX_ANALYTICS_ENABLED": "true"},
    **{"WEB_CONCURRENCY": "3", "UVICORN_PORT": "1", "FORWARDED_ALLOW_IPS": "*"},
    **{"SPARK_HOME": "/nowhere", "PYSPARK_PYTHON": "/nowhere", "PYSPARK_SUBMIT_ARGS": "nonsense"},
    **{"PYTHONWARNINGS": "error", "PYTHONOPTIMIZE": "2", "PYTHONSTARTUP": "/nowhere", "PYTHONINSPECT": "1"},
    **{"PYTHONHASHSEED": "7", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    **{"LC_ALL": "C", "LANG": "tr_TR.ISO-8859-9", "TZ": "Pacific/Kiritimati", "COLUMNS": "20", "NO_COLOR": "1"},
    **{"HOME": "/nowhere", "TMPDIR": "/nowhere", "XDG_STATE_HOME": "/nowhere", "PIP_USER": "1"},
}
MODULES = (
    *(
        "pipelines",
        "expectations",
        "starlette",
        "uvicorn",
        "dbt",
        "dagster",
        "great_expectations",
        "duckdb",
        "yaml",
        "json",
    ),
    *("logging", "random", "click", "rich", "msgspec", "pandas", "numpy", "sqlalchemy"),
)
"""Modules that a command imports, by their own names and by the names of libraries."""
FILES = {
    **dict.fromkeys(("dbt_project.yml", "packages.yml", "profiles.yml", ".user.yml"), "nonsense: ["),
    **dict.fromkeys(("dagster.yaml", "workspace.yaml", "great_expectations.yml"), "nonsense: ["),
    **dict.fromkeys(("pyproject.toml", "setup.cfg", ".sqlfluff"), "nonsense = ["),
    **{".env": "DIALOGUE_WAREHOUSE=/nowhere\n", ".dbt/profiles.yml": "nonsense: [", "gx/great_expectations.yml": "["},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a working folder, and home folder, of a user with other projects."""
    folder = tmp_path_factory.mktemp("working")
    for name in MODULES:
        (folder / f"{name}.py").write_text(f"raise SystemExit('this is another {name}')\n")
    (folder / "pipelines").mkdir()
    (folder / "pipelines" / "__init__.py").write_text("raise SystemExit('these are other pipelines')\n")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def run(folder: Path, *arguments: object, **others: str) -> subprocess.CompletedProcess[str]:
    """Run the command in the folder, with these additional variables."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("DIALOGUE_")}
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=folder,
        env=own | {"HOME": str(folder), "PYTHONPATH": str(folder)} | others,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_surroundings_do_not_change_a_build(folder: Path, tmp_path: Path, sample_folder: Path) -> None:
    """All at once, on a file system without modes, links and times, such as CIFS or a Windows disk in Linux.

    Regression: settings of another dbt project in the shell broke builds, or published one more schema.
    https://github.com/dagster-io/dagster/issues/26504
    """
    warehouse = tmp_path / "w"
    lacking = refusing(warehouse, chmod=errno.EPERM, utime=errno.EPERM, link=errno.EPERM)
    arguments = ("build", "--quiet", "--source", sample_folder / "sample", "--corpora", CORPUS)
    built = run(folder, *arguments, "--warehouse", warehouse, **OF_OTHERS, **lacking)
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    with duckdb.connect(str(warehouse / "dialogues.duckdb"), read_only=True) as con:
        con.execute(f"attach '{sample_folder / 'dialogues.duckdb'}' as sample (read_only)")
        tables = "select schema_name, table_name from duckdb_tables() where database_name = '{}' order by all"
        made = rows(con, tables.format("dialogues"))
        assert made == rows(con, tables.format("sample"))
        compared = 0
        for schema, table in made:
            columns = rows(con, f"describe dialogues.{schema}.{table}")
            if schema == "core" and "corpus_id" in [name for name, *_ in columns]:
                mine, theirs = (
                    f"from {of}.{schema}.{table} where corpus_id = '{CORPUS}'" for of in ("dialogues", "sample")
                )
                assert rows(con, f"(select * {mine} except all select * {theirs})") == [], table
                ((count,), (expected,)) = (rows(con, f"select count(*) {of}")[0] for of in (mine, theirs))
                assert count == expected
                compared += count
        assert compared > 1_000
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        {*(f"{name}.py" for name in MODULES), "pipelines", *(name.split("/")[0] for name in FILES)}
    )


def test_modules_of_the_working_folder_are_not_run(folder: Path, sample_folder: Path, tmp_path: Path) -> None:
    """`python -m` puts the working folder first, and PYTHONPATH precedes the standard library."""
    simulate = ("simulate", "--to", tmp_path, "--corpora", CORPUS, "--scale", "0.001")
    for path in (folder, ""):
        ended = run(folder, *simulate, PYTHONPATH=str(path), DIALOGUE_PROCESSES="2")  # which start as Python's children
        assert (ended.returncode, "this is another" in ended.stderr) == (0, False)
    for arguments in (("sql", "select 'ä€' as text"), ("status",), ("claims", "--json"), ("violations", "--rules")):
        ended = run(folder, *arguments, "--warehouse", sample_folder, PYTHONIOENCODING="ascii", LC_ALL="C")
        assert (ended.returncode, ended.stderr) == (0, ""), arguments
        assert arguments[0] != "sql" or "ä€" in ended.stdout


def test_dashboard_ignores_files_of_the_working_folder(folder: Path, sample_folder: Path) -> None:
    """Regression: it ran the folder's `pipelines.py`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [COMMAND, "dashboard", "--warehouse", sample_folder, "--port", str(port)]
    others = {name: value for name, value in OF_OTHERS.items() if name not in ("HOME", "TMPDIR")}
    variables = os.environ | others | {"HOME": str(folder), "PYTHONPATH": str(folder)}
    with subprocess.Popen(
        command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as serving:
        try:
            assert "What this warehouse holds" in answer(serving, f"http://127.0.0.1:{port}/")
            assert "Download all rows" in answer(serving, f"http://127.0.0.1:{port}/sql?query=select+1")
            serving.stdout.close()
            serving.terminate()
            reported = serving.communicate(timeout=60)[1]  # it ends even if its output has no reader
            assert (serving.returncode, reported) == (128 + signal.SIGTERM, b"interrupted\n")
        finally:
            serving.kill()


def answer(serving: subprocess.Popen[bytes], url: str) -> str:
    """Return the answer of a server, as soon as it answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + 120
    while True:
        try:
            return opener.open(url, timeout=20).read().decode()
        except OSError:
            assert serving.poll() is None, serving.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.5)
