"""Dagster's instance in PostgreSQL, as a new warehouse has it where the environment names a server that runs here."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE, WarehousePaths
from pipelines.dagster_graph import configuration
from pipelines.dagster_graph.instance import PUBLISHED, prepare

pytestmark = pytest.mark.filterwarnings("ignore")
AS_ANOTHER_USER = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")


def server_program(name: str) -> str:
    """Return the path of a program of the server; Debian keeps them in a separate folder."""
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = shutil.which(name) or (str(debian[-1]) if debian else None)
    if found is None:
        pytest.skip(f"no PostgreSQL server here: {name} is missing (Debian: apt-get install postgresql)")
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Return the URL of a server that listens on no address, only on a socket in its folder."""
    pytest.importorskip("dagster_postgres", reason="the extra `postgresql` is not installed")
    initdb, postgres = server_program("initdb"), server_program("postgres")
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        as_user: tuple[str, ...] = ()
        if os.geteuid() == 0:  # which the server refuses to run as
            if shutil.which("setpriv") is None:
                pytest.skip("PostgreSQL does not run as root, and there is no setpriv here")
            as_user = AS_ANOTHER_USER
            shutil.chown(folder, "nobody", "nogroup")
        options = ("--username=dagster", "--auth=trust", "--encoding=UTF8", "--no-sync")
        subprocess.run([*as_user, initdb, "-D", folder / "data", *options], cwd="/", capture_output=True, check=True)
        options = ("-c", "listen_addresses=", "-c", "fsync=off", "-k", name)
        with subprocess.Popen(
            [*as_user, postgres, "-D", folder / "data", *options], cwd="/", stderr=subprocess.DEVNULL
        ) as running:
            try:
                url = f"postgresql://dagster@/postgres?host={name}"
                wait_for(url, running)
                yield url
            finally:
                running.send_signal(signal.SIGINT)


DRIVER = "postgresql+psycopg2://"
"""Beginning of the URL for Dagster: SQLAlchemy 2.1 uses a driver for `postgresql://` that is not installed."""


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    """Wait until the server answers."""
    import psycopg2

    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg2.connect(url).close()
            return
        except psycopg2.OperationalError:
            assert server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_run_of_dagster_has_its_history_in_postgresql(
    server: str, generated_sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dagster as dg
    import psycopg2

    paths = WarehousePaths(tmp_path / "warehouse")
    home = paths.dagster_home
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", server.replace("postgresql://", DRIVER))
    prepare(paths)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DIALOGUE_", "DAGSTER_"))}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DIALOGUE_WAREHOUSE": str(paths.root),
        "DIALOGUE_SOURCE": str(generated_sample),
        "DIALOGUE_ONLY": "bbai",
        "DIALOGUE_QUIET_SECONDS": "0.01",
        "DAGSTER_HOME": str(home),
        "DAGSTER_POSTGRES_URL": os.environ["DAGSTER_POSTGRES_URL"],
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    launch = ["dg", "launch", "--job", "everything"]
    ran = subprocess.run(launch, cwd=CLONE, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
    assert paths.pointer.exists()

    with contextlib.closing(psycopg2.connect(server)) as con, con.cursor() as cursor:
        cursor.execute("select run_id, pipeline_name, status from runs")
        ((run, job, status),) = cursor.fetchall()
        assert (job, status) == ("everything", "SUCCESS")
        cursor.execute("select count(*) from event_logs where run_id = %s", [run])
        ((logged,),) = cursor.fetchall()
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        assert instance.all_logs(run)
        assert len(instance.all_logs(run)) == logged
        assert instance.get_concurrency_config().pool_config.default_pool_limit == 1
        assert not instance.telemetry_enabled
        built = instance.get_latest_materialization_event(PUBLISHED)

    # A build on the command line reports to it too, but is not a run of Dagster.
    del environment["DAGSTER_HOME"]
    ran = subprocess.run(
        [sys.executable, "-m", "dialogue_warehouse", "build", "--force", "--quiet"],
        cwd=CLONE,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        reported = instance.get_latest_materialization_event(PUBLISHED)
        assert built is not None
        assert reported is not None
        assert reported.timestamp > built.timestamp
        assert len(instance.get_run_records()) == 1
    assert sorted(home.rglob("*.db")) == []  # nothing in SQLite


def test_url_is_given_as_the_driver_that_is_installed_needs_it() -> None:
    for name in ("deploy/compose.postgresql.yaml", "docs/run_it_unattended.md"):
        text = (CLONE / name).read_text(encoding="utf-8")
        assert set(re.findall(r"\bpostgresql\S*?://", text)) == {DRIVER}, name


@pytest.mark.parametrize("is_new", [True, False], ids=["new warehouse", "warehouse with a configuration"])
@pytest.mark.parametrize(
    ("server", "reason"),
    [("anna:xyz@zy@127.0.0.1:1/nothing", "has more than one @; .* %40"), ("anna:xyzzy/nothing", "has no @ .* a port")],
)
def test_password_that_is_taken_for_a_host_or_a_port_is_refused_and_not_repeated(
    server: str, reason: str, is_new: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are named in messages and in Dagster's log."""
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", f"{DRIVER}{server}")
    paths = WarehousePaths(tmp_path)
    if not is_new:
        configuration.write(paths)
    with pytest.raises(InputError, match=rf"^DAGSTER_POSTGRES_URL: {reason}$") as refused:
        configuration.check(paths)
    assert "zy" not in str(refused.value)


def test_missing_server_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dagster as dg

    pytest.importorskip("dagster_postgres", reason="the extra `postgresql` is not installed")
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", f"{DRIVER}unknown@127.0.0.1:1/nothing")
    refused = r"^[^\n]*dagster\.yaml: the history that it names cannot be opened: [^\n]*port 1 failed[^\n]*; start its"
    with pytest.raises(InputError, match=refused):
        prepare(WarehousePaths(tmp_path))
    monkeypatch.delenv("DAGSTER_POSTGRES_URL")
    with pytest.raises(dg.DagsterInvalidConfigError, match="DAGSTER_POSTGRES_URL"):
        dg.DagsterInstance.local_temp(str(WarehousePaths(tmp_path).dagster_home))
