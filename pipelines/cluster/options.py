"""Options of Spark, and the Java it runs on.

Some options are fixed because the results depend on them; the user sets others. Where Java is missing or too old, the
error has one line. Names as in https://spark.apache.org/docs/latest/configuration.html
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from dialogue_warehouse.common.files import read_regular
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE, absolute
from dialogue_warehouse.settings import Settings

PYTHON = sys.executable
"""The Python of the tasks: this one, which every machine of a cluster has under the same path."""
LARGEST_FILE = 2**20
"""Maximum size of a file of options in bytes."""
ON_ONE_MACHINE = ("local", "local-cluster")
"""The prefixes of a master that runs on this machine."""
FIXED = {
    # These give the same SQL the same meaning on both engines.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.legacy.sizeOfNull": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # The result is the Parquet: no catalog outlives the session.
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.parquet.compression.codec": "zstd",
}
"""Options that cannot be changed: results would differ."""
USUAL = {
    "spark.app.name": "dialogue-warehouse",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.files.maxRecordsPerFile": "2000000",
    "spark.task.maxFailures": "4",
    # The tables are small as files, and between two stages, compared with their size in memory. By the small sizes
    # Spark broadcasts whole tables; at scale 1 one of them was too large for a driver of 4 GB.
    "spark.sql.sources.fileCompressionFactor": "20",
    "spark.sql.autoBroadcastJoinThreshold": "1m",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "1m",
}
"""Options that can be changed."""


def server_options() -> dict[str, str]:
    """Return the options to set when a session of a server begins; all others are set when it starts."""
    return {name: value for name, value in FIXED.items() if name != "spark.sql.catalogImplementation"}


def session_options(settings: Settings, scratch: Path) -> dict[str, str]:
    """Return all options of a session. Raises InputError for options that the user must not set."""
    master = settings.spark_master
    options = USUAL | {
        "spark.master": master,
        "spark.sql.warehouse.dir": str(scratch),
        "spark.executorEnv.PYTHONPATH": str(CLONE),
        "spark.driver.memory": _java_size(settings.memory_limit),
    }
    if is_on_one_machine(master):
        options |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        options["spark.local.dir"] = str(scratch / "local")
    return options | user_options(settings.spark_conf) | FIXED


def is_on_one_machine(master: str) -> bool:
    """Return whether a master is this machine alone."""
    return master.partition("[")[0] in ON_ONE_MACHINE


def is_server(master: str) -> bool:
    """Return whether a master is a running Thrift server, `thrift://HOST:PORT`."""
    return master.startswith("thrift://")


def user_options(text: str | None) -> dict[str, str]:
    """Read `DIALOGUE_SPARK_CONF`: `name=value` separated by spaces, or the path of a file with one per line.

    Raises InputError for any other text, for a name that does not begin with `spark.`, and for an option that results
    depend on.
    """
    if not text:
        return {}
    where, pairs = "DIALOGUE_SPARK_CONF", text.split()
    if "=" not in pairs[0] or _is_file(text):
        where = f"DIALOGUE_SPARK_CONF: {text}"
        try:
            lines = read_regular(absolute(Path(text)), LARGEST_FILE).decode().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"{where}: neither options such as spark.executor.memory=4g nor a readable file of them"
            ) from error
        pairs = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    options: dict[str, str] = {}
    for pair in pairs:
        found = re.fullmatch(r"(spark\.[\w.-]+)(?:\s*=\s*|\s+)(.+)", pair)
        if not found:
            raise InputError(f"{where}: '{pair}' is not an option such as spark.executor.memory=4g")
        name, value = found.groups()
        if name in FIXED and value != FIXED[name]:
            raise InputError(f"{where}: {name} must be {FIXED[name]}, because results depend on it")
        options[name] = value
    return options


def _is_file(text: str) -> bool:
    """Return whether this is the path of a file; a list of options can be too long for a path."""
    try:
        return Path(text).is_file()
    except OSError:
        return False


def _java_size(memory_limit: str) -> str:
    """Convert a size to Java's form in whole mebibytes, `4GB` to `3814m`; for a share of the memory return `4g`."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])(i?)b\s*", memory_limit, flags=re.IGNORECASE)
    if not found:
        return "4g"
    count = float(found[1]) * (1024 if found[3] else 1000) ** ("kmgt".index(found[2].lower()) + 1)
    return f"{max(512, int(count / 2**20))}m"


LEAST = 17
"""The oldest Java that Spark 4 runs on."""
SECONDS = 30
"""Seconds to wait for the output of `java -version`."""


def check() -> None:
    """Raise InputError unless there is a Java that Spark can run on: that of `JAVA_HOME`, else the one of `PATH`."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    needed = f"Spark needs Java {LEAST} or later"
    mend = "install it (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
    if program is None:
        raise InputError(f"{needed}, but Java is not installed: {mend}")
    try:
        ran = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{needed}, but {program} does not run ({type(error).__name__}): {mend}") from error
    version = version_of(ran.stderr + ran.stdout)
    if version is None or version < LEAST:
        raise InputError(
            f"{needed}, but {program} {f'is Java {version}' if version else 'does not print its version'}: {mend}"
        )


def version_of(text: str) -> int | None:
    """Return the major version in the output of `java -version`: 17 of "17.0.15", 8 of "1.8.0_402"; else None."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else None
