"""Options of Spark, and the Java it runs on.

Some options our results depend on, others the user sets. Java is refused in one line where it is missing or too old.
Names as in https://spark.apache.org/docs/latest/configuration.html
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE, absolute
from dialogue_warehouse.settings import Settings

PYTHON = sys.executable
"""The Python of the tasks: this one, which every machine of a cluster has under the same path."""
ON_ONE_MACHINE = ("local", "local-cluster")
"""How a master begins that is no other machine."""
FIXED = {
    # What the same SQL means on both engines.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.legacy.sizeOfNull": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # The Parquet is what is handed over: no catalog outlives the session.
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.parquet.compression.codec": "zstd",
}
"""What nobody may set otherwise: results would differ."""
USUAL = {
    "spark.app.name": "dialogue-warehouse",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.files.maxRecordsPerFile": "2000000",
    "spark.task.maxFailures": "4",
    # Our tables are small as files, and between two stages, beside what they are in memory: by those sizes Spark sends
    # whole tables to everybody, of which at scale 1 one was too large for a driver of 4 GB.
    "spark.sql.sources.fileCompressionFactor": "20",
    "spark.sql.autoBroadcastJoinThreshold": "1m",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "1m",
}
"""What may be set otherwise."""


def server_options() -> dict[str, str]:
    """What a session of a server is told when it begins; what a server can be told only when it starts is its own."""
    return {name: value for name, value in FIXED.items() if name != "spark.sql.catalogImplementation"}


def session_options(settings: Settings, scratch: Path) -> dict[str, str]:
    """All settings of a session. Raises InputError for settings of the user's that cannot be."""
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
    """Whether a master is this machine alone."""
    return master.partition("[")[0] in ON_ONE_MACHINE


def is_server(master: str) -> bool:
    """Whether a master is a Thrift server that stands, `thrift://HOST:PORT`."""
    return master.startswith("thrift://")


def user_options(text: str | None) -> dict[str, str]:
    """The settings of `DIALOGUE_SPARK_CONF`: `name=value` with spaces between them, or a file with one a line.

    Raises InputError for what is neither, for a name that is none of Spark's, and for what results rest on.
    """
    if not text:
        return {}
    where, pairs = "DIALOGUE_SPARK_CONF", text.split()
    if "=" not in pairs[0] or _is_file(text):
        where = f"DIALOGUE_SPARK_CONF: {text}"
        try:
            lines = absolute(Path(text)).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{where}: no settings such as spark.executor.memory=4g, and no file of them") from error
        pairs = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    options: dict[str, str] = {}
    for pair in pairs:
        found = re.fullmatch(r"(spark\.[\w.-]+)(?:\s*=\s*|\s+)(.+)", pair)
        if not found:
            raise InputError(f"{where}: '{pair}' is no setting such as spark.executor.memory=4g")
        name, value = found.groups()
        if name in FIXED and value != FIXED[name]:
            raise InputError(f"{where}: {name} is {FIXED[name]}, because results rest on it")
        options[name] = value
    return options


def _is_file(text: str) -> bool:
    """Whether this is the path of a file, which settings can be too long to be."""
    try:
        return Path(text).is_file()
    except OSError:
        return False


def _java_size(memory_limit: str) -> str:
    """A size as Java has it, in whole mebibytes: 3814m of 4GB. A share of the machine's memory is left to Java."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])(i?)b\s*", memory_limit, flags=re.IGNORECASE)
    if not found:
        return "4g"
    count = float(found[1]) * (1024 if found[3] else 1000) ** ("kmgt".index(found[2].lower()) + 1)
    return f"{max(512, int(count / 2**20))}m"


LEAST = 17
"""The oldest Java that Spark 4 runs on."""
SECONDS = 30
"""After which a Java that says nothing is given up."""


def check() -> None:
    """Raise InputError unless there is a Java that Spark can run on: that of `JAVA_HOME`, else the one of `PATH`."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    needed = f"Spark needs Java {LEAST} or later"
    mend = "install it (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
    if program is None:
        raise InputError(f"{needed}, and there is none: {mend}")
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{needed}, and {program} does not run ({type(error).__name__}): {mend}") from error
    version = version_of(told.stderr + told.stdout)
    if version is None or version < LEAST:
        raise InputError(
            f"{needed}, and {program} is {f'Java {version}' if version else 'none that says its version'}: {mend}"
        )


def version_of(text: str) -> int | None:
    """The major version that `java -version` tells: 17 of "17.0.15", 8 of "1.8.0_402"; None where it tells none."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else None
