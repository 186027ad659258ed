"""What Great Expectations would load and nobody here uses is loaded by its first use, and Spark never."""

from __future__ import annotations

import subprocess
import sys

import pytest


def said(code: str) -> str:
    """What Python prints that has nothing loaded but what the code loads."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_module_is_loaded_by_its_first_use() -> None:
    code = """
import sys
from expectations.dialect import load_later
load_later("wave", "no_such_module")
import wave
print("no_such_module" in sys.modules, "Wave_read" in vars(wave), hasattr(wave, "__version__"), wave is sys.modules["wave"])
print(wave.Wave_read.__module__, wave is sys.modules["wave"], "Wave_read" in vars(sys.modules["wave"]))
import wave as again
print(again.Wave_read is wave.Wave_read)
"""
    assert said(code).splitlines() == ["False False False True", "wave False True", "True"]


def test_submodule_of_one_that_waits_is_imported() -> None:
    code = "from expectations.dialect import load_later\nload_later('xml.dom')\nimport xml.dom.minidom\nprint(xml.dom.minidom.Node.__name__)"
    assert said(code) == "Node"


@pytest.mark.parametrize("module", ["scipy.stats._stats_py", "altair.vegalite", "pyspark.sql"])
def test_library_is_imported_without_what_nobody_uses(module: str) -> None:
    assert said(f"import sys, expectations.validation\nprint({module!r} in sys.modules)") == "False"


def test_what_waits_is_there_when_it_is_asked_for() -> None:
    code = (
        "import expectations.validation\n"
        "from great_expectations.expectations.core import expect_column_kl_divergence_to_be_less_than as of_library\n"
        "print(of_library.stats.entropy([0.5, 0.5], [0.5, 0.5]), of_library.alt.Chart.__name__)"
    )
    assert said(code) == "0.0 Chart"
