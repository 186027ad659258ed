"""The process of the command, as it should be whatever shell it is started from.

Variables and modules of other tools do not reach the command or its child processes: dbt, Streamlit and Python itself
read hundreds of variables, so whole prefixes are removed, and what the project documents is kept. Only a process that
the command has to itself is changed in this way. Dagster's own commands (`dagster dev`, `dg`) keep their environment:
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
"""The folder in which this package lies."""
OTHER_TOOLS = re.compile(r"DAGSTER_|DBT_|GX_|PYSPARK_|SPARK_|STREAMLIT_|PYTHON[A-Z]")
"""How the names of variables begin that libraries read and this project does not document."""
KEPT = frozenset(
    {
        # Where Python and its modules are, and how it writes its output and its compiled modules.
        *("PYTHONHOME", "PYTHONEXECUTABLE", "PYTHONPLATLIBDIR", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "PYTHONSAFEPATH"),
        *("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "PYTHONFAULTHANDLER"),
        # Where `deploy/dagster-postgresql.yaml` has Dagster's history.
        "DAGSTER_POSTGRES_URL",
        # What a machine of a cluster is called, and where it has room.
        *("SPARK_LOCAL_DIRS", "SPARK_LOCAL_HOSTNAME", "SPARK_LOCAL_IP", "SPARK_PUBLIC_DNS", "SPARK_USER"),
    }
)
SAFE = {"PYTHONSAFEPATH": "1", "PYTHONUTF8": "1"}
"""No child process imports from the working folder, or reads and writes files in the encoding of a language."""
BAD_INPUT = 2


def prepare() -> None:
    """Put this process in order, before anything else is imported; the process starts once more where it has to.

    Exits with status 2 where the working folder is gone.
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
    """The variables of a process of the command: those of this process without the ones of other tools."""
    kept = {name: value for name, value in os.environ.items() if name in KEPT or not OTHER_TOOLS.match(name)}
    path = os.environ.get("PYTHONPATH", "")
    if CLONE in path.split(os.pathsep):  # whoever composes the environment of such folders has the libraries there too
        return kept | SAFE | {"PYTHONPATH": path}
    return kept | SAFE | ({} if _is_installed() else {"PYTHONPATH": CLONE})


@contextlib.contextmanager
def without_dbt() -> Generator[None]:
    """Hide the variables that dbt reads, in a process that is not the command's own; threads see that too."""
    hidden = {name: value for name, value in os.environ.items() if name.startswith("DBT_")}
    for name in hidden:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(hidden)


def _is_read_at_start(variables: Mapping[str, str]) -> bool:
    """Whether Python itself has read, when it started, what these variables do not have."""
    if sys.flags.ignore_environment or not sys.executable:
        return False
    is_removed = any(name.startswith("PYTHON") for name in os.environ.keys() - variables.keys())
    is_other_path = os.environ.get("PYTHONPATH", "") != variables.get("PYTHONPATH", "") and "PYTHONPATH" in os.environ
    is_other_encoding = os.environ.get("PYTHONUTF8") != "1" and sys.getfilesystemencoding() != "utf-8"
    return is_removed or is_other_path or is_other_encoding


def _is_installed() -> bool:
    """Whether Python finds this package without the working folder and without `PYTHONPATH`."""
    before = sys.path[:]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    given += [CLONE] if Path(CLONE, "pyproject.toml").is_file() else []  # such as `python -m` has it in its path
    sys.path[:] = [entry for entry in before if not _is_working_folder(entry) and entry not in given]
    try:
        found = next(filter(None, (finder.find_spec(PACKAGE, None) for finder in sys.meta_path)), None)
    finally:
        sys.path[:] = before
    return found is not None and found.origin == str(Path(__file__).with_name("__init__.py"))


def _is_working_folder(entry: str) -> bool:
    """Whether an entry of the module path is the folder that the user works in."""
    return entry == "" or (entry == sys.path[0] and entry == os.getcwd())  # noqa: PTH109


def _open_closed_handles() -> None:
    """Open standard input, output and error where they are closed: a database would get their numbers.

    What is written there is lost, as whoever closed them wants it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest number that is free: this one
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _refuse_missing_folder() -> None:
    """Exit where there is no working folder: libraries ask for it, and paths are relative to it."""
    try:
        os.getcwd()  # noqa: PTH109
    except OSError as error:
        _refuse(f"the working folder cannot be used: {error.strerror}; change to another one")


def _refuse(line: str) -> NoReturn:
    with contextlib.suppress(OSError):
        print(f"error: {line}", file=sys.stderr)
    sys.exit(BAD_INPUT)
