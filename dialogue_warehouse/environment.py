"""Prepare the process of the command, so that it does not depend on the shell that starts it.

Variables and modules of other tools do not reach the command or its child processes. Dbt, Dagster and Python itself
read hundreds of variables, so whole prefixes are removed, and the variables that this project documents are kept. Only
the command's own process is changed in this way. Dagster's own commands (`dagster dev`, `dg`) keep their environment:
there the code calls `own_variables` for its child processes and `without_dbt` around dbt.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import NoReturn

PACKAGE = "dialogue_warehouse"
CLONE = str(Path(__file__).resolve().parent.parent)
"""The folder that contains this package."""
OTHER_TOOLS = re.compile(r"DAGSTER_|DBT_|GX_|PYSPARK_|SPARK_|PYTHON[A-Z]")
"""Prefixes of variables that libraries read and this project does not document."""
KEPT = frozenset(
    {
        # Where Python and its modules are, and how it writes its output and its compiled modules.
        *("PYTHONHOME", "PYTHONEXECUTABLE", "PYTHONPLATLIBDIR", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "PYTHONSAFEPATH"),
        *("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "PYTHONFAULTHANDLER"),
        # The URL of a PostgreSQL with Dagster's history.
        "DAGSTER_POSTGRES_URL",
        # The names of a machine in a cluster, and its folders for temporary data.
        *("SPARK_LOCAL_DIRS", "SPARK_LOCAL_HOSTNAME", "SPARK_LOCAL_IP", "SPARK_PUBLIC_DNS", "SPARK_USER"),
    }
)
SAFE = {"PYTHONSAFEPATH": "1", "PYTHONUTF8": "1"}
"""Child processes import nothing from the working folder, and use UTF-8 for files in every locale."""
BAD_INPUT = 2


def prepare() -> None:
    """Prepare this process before anything else is imported; restart it if Python has already used other variables.

    Exits with status 2 if the working folder does not exist any more.
    """
    _open_closed_handles()
    _refuse_missing_folder()
    variables = own_variables()
    if _is_read_at_start(variables):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], variables)  # noqa: S606
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)
    if not sys.flags.safe_path and "PYTHONPATH" not in variables:
        sys.path[:] = [entry for entry in sys.path if not _is_working_folder(entry)]


def own_variables() -> dict[str, str]:
    """Return the environment of a process of the command: this process's variables without those of other tools."""
    kept = {name: value for name, value in os.environ.items() if name in KEPT or not OTHER_TOOLS.match(name)}
    path = os.environ.get("PYTHONPATH", "")
    if CLONE in path.split(os.pathsep):  # an environment that names this folder has the libraries in its path too
        return kept | SAFE | {"PYTHONPATH": path}
    return kept | SAFE | ({} if _is_installed() else {"PYTHONPATH": CLONE})


@contextlib.contextmanager
def without_dbt() -> Generator[None]:
    """Hide the variables that dbt reads, in a process of another program. Other threads see the change too."""
    hidden = {name: value for name, value in os.environ.items() if name.startswith("DBT_")}
    for name in hidden:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(hidden)


def _is_read_at_start(variables: Mapping[str, str]) -> bool:
    """Return whether Python has already used variables that differ from these, so that it has to restart."""
    if sys.flags.ignore_environment or not sys.executable:
        return False
    is_removed = any(name.startswith("PYTHON") for name in os.environ.keys() - variables.keys())
    is_other_path = os.environ.get("PYTHONPATH", "") != variables.get("PYTHONPATH", "") and "PYTHONPATH" in os.environ
    is_other_encoding = os.environ.get("PYTHONUTF8") != "1" and sys.getfilesystemencoding() != "utf-8"
    return is_removed or is_other_path or is_other_encoding


def _is_installed() -> bool:
    """Return whether Python finds this package without the working folder and without `PYTHONPATH`."""
    before = sys.path[:]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    given += [CLONE] if Path(CLONE, "pyproject.toml").is_file() else []  # `python -m` adds it to its path
    sys.path[:] = [entry for entry in before if not _is_working_folder(entry) and entry not in given]
    try:
        found = next(filter(None, (finder.find_spec(PACKAGE, None) for finder in sys.meta_path)), None)
    finally:
        sys.path[:] = before
    return found is not None and found.origin == str(Path(__file__).with_name("__init__.py"))


def _is_working_folder(entry: str) -> bool:
    """Return whether an entry of the module path is the working folder of the user."""
    return entry == "" or (entry == sys.path[0] and entry == os.getcwd())  # noqa: PTH109


def _open_closed_handles() -> None:
    """Open standard input, output and error if they are closed: else a database would get their numbers.

    Output to them is discarded.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number, which is this one
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _refuse_missing_folder() -> None:
    """Exit if the working folder does not exist: libraries read it, and paths are relative to it."""
    try:
        os.getcwd()  # noqa: PTH109
    except OSError as error:
        _refuse(f"the working folder cannot be used: {error.strerror}; change to another one")


def _refuse(line: str) -> NoReturn:
    with contextlib.suppress(OSError):
        print(f"error: {line}", file=sys.stderr)
    sys.exit(BAD_INPUT)
