"""Connections signed with a company's certificate: downloads and alerts trust certificates in the environment."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import certifi
import pytest

from dialogue_warehouse.corpora.release import SourceFile
from dialogue_warehouse.errors import InputError
from pipelines.ingestion import connections, transport
from tests.conftest import run_command
from tests.integration.downloads import CONTENT, Web, fetched, listed, refused, run

pytestmark = pytest.mark.usefixtures("no_proxy_of_the_machine")

FILE, FOLDER = "SSL_CERT_FILE", "SSL_CERT_DIR"
FILES = [name for name in connections.VARIABLES if name != FOLDER]
FOLDERS = [name for name in connections.VARIABLES if name != FILE]


def subject_hash(certificate: Path) -> str:
    """Return the name that OpenSSL looks for in a folder of certificates."""
    command = ["openssl", "x509", "-noout", "-subject_hash", "-in", certificate]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="session")
def company_folder(company_certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the certificate, as `openssl rehash` prepares it."""
    folder = tmp_path_factory.mktemp("certificates")
    shutil.copy(company_certificate, folder / f"{subject_hash(company_certificate)}.0")
    return folder


def test_untrusted_certificate_is_rejected_with_the_variable_to_set(company_web: Web, tmp_path) -> None:
    host = company_web.url.removeprefix("https://")
    cause = refused(tmp_path, listed(company_web, "a"))
    assert cause.startswith(f"the certificate of {host} is not accepted: ")
    assert "self-signed certificate (18); SSL_CERT_FILE (or " in cause
    assert "REQUESTS_CA_BUNDLE" in cause
    assert company_web.asked == []


@pytest.mark.parametrize("name", FILES)
def test_file_of_certificates_is_trusted(
    company_web: Web, company_certificate: Path, tmp_path, monkeypatch, name: str
) -> None:
    monkeypatch.setenv(name, str(company_certificate))
    assert fetched(tmp_path, listed(company_web, "a")) == CONTENT
    assert transport.post_json(f"{company_web.url}/hook", {"text": "x"}, 1.0, 30.0) == 501


@pytest.mark.parametrize("name", FOLDERS)
def test_folder_of_certificates_is_trusted(
    company_web: Web, company_folder: Path, tmp_path, monkeypatch, name: str
) -> None:
    monkeypatch.setenv(name, str(company_folder))
    assert fetched(tmp_path, listed(company_web, "a")) == CONTENT


@pytest.mark.parametrize("name", FILES)
def test_certificates_of_all_variables_are_trusted_together(
    company_web: Web, company_folder: Path, tmp_path, monkeypatch, name: str
) -> None:
    """Conda sets SSL_CERT_FILE to the usual certificates; the company's certificate is in a folder, one of several."""
    monkeypatch.setenv(name, str(usual_certificates()))
    monkeypatch.setenv(FOLDER, f"{tmp_path / 'nowhere'}:{company_folder}")
    assert fetched(tmp_path, listed(company_web, "a")) == CONTENT


def test_variable_of_one_command_is_added_to_that_of_the_machine(
    company_web: Web, company_certificate: Path, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(usual_certificates()))
    monkeypatch.setenv(FILE, str(company_certificate))
    assert fetched(tmp_path, listed(company_web, "a")) == CONTENT


def usual_certificates() -> Path:
    """Return the certificates that are trusted if no variable names others."""
    return Path(certifi.where())


def test_other_certificates_are_not_enough(company_web: Web, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(FILE, str(usual_certificates()))
    assert "self-signed certificate" in refused(tmp_path, listed(company_web, "a"))


def test_certificate_of_another_host_is_refused_without_a_variable(
    company_web: Web, company_certificate: Path, tmp_path, monkeypatch
) -> None:
    """No list of certificates helps if the host name is wrong."""
    monkeypatch.setenv(FILE, str(company_certificate))
    url = company_web.url.replace("127.0.0.1", "localhost")
    cause = refused(tmp_path, SourceFile("a", f"{url}/a"))
    assert cause.startswith(f"the certificate of {url.removeprefix('https://')} is not accepted: ")
    assert "matches target hostname 'localhost'" in cause
    assert "SSL_CERT_FILE" not in cause


def test_error_names_the_host_after_a_redirect(web: Web, company_web: Web, tmp_path) -> None:
    file = listed(web, "a")
    web.faults["/a"] = [lambda handler, _: handler.answer(302, Location=f"{company_web.url}/a")]
    cause = refused(tmp_path, file)
    assert cause.startswith(f"the certificate of {company_web.url.removeprefix('https://')} is not accepted")


def test_certificate_of_a_proxy_is_checked_in_the_same_way(
    company_web: Web, company_certificate: Path, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("http_proxy", company_web.url)
    company_web.files["http://nowhere.invalid/a"] = CONTENT
    file = SourceFile("a", "http://nowhere.invalid/a")
    cause = refused(tmp_path, file)
    assert cause.startswith("the certificate of the proxy for nowhere.invalid is not accepted: ")
    assert "self-signed certificate (18); SSL_CERT_FILE (or " in cause
    monkeypatch.setenv(FILE, str(company_certificate))
    assert fetched(tmp_path, file) == CONTENT


def test_host_without_tls_is_not_an_interrupted_connection(web: Web, tmp_path) -> None:
    url = web.url.replace("http:", "https:")
    cause = refused(tmp_path, SourceFile("a", f"{url}/a"))
    assert cause == f"{web.url.removeprefix('http://')} cannot be reached over TLS"


@pytest.mark.parametrize("name", connections.VARIABLES)
@pytest.mark.parametrize("place", ["missing", "text", "empty", "loop"])
def test_unusable_variable_is_named(company_web: Web, tmp_path, monkeypatch, name: str, place: str) -> None:
    (tmp_path / "text").write_text("no certificate")
    (tmp_path / "empty").touch()
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setenv(name, str(tmp_path / place))
    with pytest.raises(InputError, match=f"^{name}: {tmp_path / place} ") as raised:
        run(tmp_path / "to", listed(company_web, "a"))
    assert "\n" not in str(raised.value)
    with pytest.raises(InputError, match=f"^{name}: "):
        transport.post_json(f"{company_web.url}/hook", {}, 1.0, 30.0)


def test_variable_is_not_read_without_encryption(web: Web, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(FILE, str(tmp_path / "missing"))
    assert fetched(tmp_path, listed(web, "a")) == CONTENT


def test_command_says_which_variable_is_wrong(company_web: Web, tmp_path) -> None:
    variables = {"DIALOGUE_MIRROR": company_web.url, "SSL_CERT_FILE": str(tmp_path / "missing.pem")}
    completed = run_command("fetch", "--to", tmp_path, **variables)
    assert completed.returncode == 2
    reported = f"error: SSL_CERT_FILE: {tmp_path / 'missing.pem'} cannot be read: No such file or directory"
    assert completed.stderr.splitlines()[-1] == reported
    assert "Traceback" not in completed.stderr
