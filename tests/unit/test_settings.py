"""Settings from the environment: what is taken, and what is refused by name."""

from __future__ import annotations

import pytest

from pipelines.errors import InputError
from pipelines.settings import Settings, SettingsError


def test_settings_take_no_other_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIALOGUE_FORM", "huggingface")
    assert Settings.from_environment().form == "huggingface"
    monkeypatch.setenv("DIALOGUE_FORM", "csv")
    with pytest.raises(InputError, match="DIALOGUE_FORM: 'csv' is none of release, huggingface"):
        Settings.from_environment()


@pytest.mark.parametrize("mirror", ["/media/disk", "ftp://m.example", "https:///x", "http://[::1", "file://host/x"])
def test_mirror_that_is_no_url_is_refused_and_not_repeated(monkeypatch, mirror):
    monkeypatch.setenv("DIALOGUE_MIRROR", mirror)
    with pytest.raises(SettingsError, match="DIALOGUE_MIRROR") as raised:
        Settings.from_environment()
    assert mirror not in str(raised.value)


def test_mirror_is_not_in_the_settings_that_are_shown(monkeypatch):
    monkeypatch.setenv("DIALOGUE_MIRROR", "https://user:secret@m.example")
    assert "secret" not in repr(Settings.from_environment())


@pytest.mark.parametrize("name", ["JOBS", "ATTEMPTS", "TIMEOUT", "BACKOFF"])
@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan", "many"])
def test_numbers_of_a_download_are_positive(monkeypatch, name, text):
    monkeypatch.setenv(f"DIALOGUE_{name}", text)
    with pytest.raises(SettingsError, match=f"DIALOGUE_{name}"):
        Settings.from_environment()


@pytest.mark.parametrize(
    ("limit", "half"), [("4GB", "2.000GB"), ("1.5 GiB", "0.750GiB"), ("80%", "40.000%"), ("a lot", "a lot")]
)
def test_processes_share_the_memory(limit, half):
    assert Settings(memory_limit=limit).memory_limit_of_each(2) == half
