"""Progress of a build: correct seconds, a moving sign, and no control characters."""

from __future__ import annotations

import io
import re
import time

import pytest
from rich.console import Console

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.releases import finding
from dialogue_warehouse.settings import Settings
from pipelines.ingestion import lander


def on_a_terminal() -> Reporter:
    reporter = Reporter(quiet=False)
    reporter.console = Console(file=io.StringIO(), force_terminal=True, width=100)
    return reporter


def test_silent_stage_still_shows_activity():
    """The terminal shows activity and seconds."""
    reporter = on_a_terminal()
    with reporter.stage("load", "framework") as stage:
        time.sleep(1.3)
        stage.detail = "Dagster and dbt"
    shown = reporter.console.file.getvalue()
    assert len(set(re.findall("[⠀-⣿]", shown))) > 3
    assert {"0:00:00", "0:00:01"} <= set(re.findall(r"0:00:\d\d", shown))
    plain = re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", shown)
    assert re.search(r"load     framework       Dagster and dbt +1\.\d s", plain)


def test_progress_of_a_stage_is_shown_as_text():
    """Neither markup nor escapes in a text reach the terminal."""
    reporter = on_a_terminal()
    with reporter.stage("model", "warehouse") as stage:
        stage.update("[bold]x\x1b[31m")
        time.sleep(0.3)
    shown = reporter.console.file.getvalue()
    assert "[bold]x" in shown
    assert "x\x1b[31m" not in shown


def test_console_of_the_progress_reads_no_markup_and_no_emoji() -> None:
    assert Reporter().console.render_str("[/b] :key:").plain == "[/b] :key:"


def test_without_a_terminal_a_stage_is_one_line(capsys):
    reporter = Reporter(quiet=False)
    with reporter.stage("land", "fruit") as stage:
        stage.detail = "a\x1b[31mb"
    assert capsys.readouterr().err == "land     fruit           " + r"a\x1b[31mb".ljust(48) + f" {0.0:6.1f} s\n"


def test_seconds_include_work_before_the_stage(capsys):
    """Landing continues in processes while the framework loads."""
    with Reporter(quiet=False).stage("land", "fruit") as stage:
        stage.seconds = 7.25
    assert capsys.readouterr().err.rstrip().endswith(" 7.2 s")


@pytest.mark.parametrize("processes", [1, 2])
def test_landing_in_processes_measures_its_time(generated_sample, tmp_path, monkeypatch, processes):
    """Measured from the first file to the last, although nothing waited for it; 0 if nothing ran in parallel."""
    monkeypatch.setattr(lander, "WORTH_PROCESSES", 0)
    release = finding.find_release(max(registry.load_corpora(), key=lambda one: len(one.files)), generated_sample)
    with lander.Lander(tmp_path, Settings(processes=processes)) as landing:
        started = time.perf_counter()
        landing.start([release])
        time.sleep(0.2)
        waited = time.perf_counter()
        landing.land(release)
        took, ended = landing.seconds(release), time.perf_counter()
    if processes == 1:
        assert took == 0
    else:
        assert 0.2 < took <= ended - started
        assert took > 0 if ended - waited < 0.1 else took > 0.1
