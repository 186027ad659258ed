"""Certificates that connections trust: those of the environment's variables, else those of the libraries.

The variables are those of requests, curl and OpenSSL. The first that is set wins, and replaces the libraries' own list;
SSL_CERT_FILE and SSL_CERT_DIR count together, as in OpenSSL.
See https://docs.openssl.org/master/man3/SSL_CTX_load_verify_locations/
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import NamedTuple

from pipelines.errors import InputError

BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables that name a file, or a folder."""
FILE, FOLDER = "SSL_CERT_FILE", "SSL_CERT_DIR"
HINT = f"{FILE} (or {BUNDLES[0]}) may name a PEM file of the certificates to trust, such as your company's"
UNKNOWN_ISSUER = {2, 18, 19, 20, 21}
"""Codes of OpenSSL for a certificate that nothing trusted has signed: another list of trusted ones helps."""


class Trusted(NamedTuple):
    """The file and the folder of the trusted certificates; both None for those that a library comes with."""

    file: str | None = None
    folder: str | None = None


def trusted() -> Trusted:
    """The certificates that the environment names. Raises InputError for a variable whose value cannot be used."""
    for name in BUNDLES:
        if place := os.environ.get(name):
            return Trusted(folder=_folder(name, place)) if Path(place).is_dir() else Trusted(_file(name, place))
    file, folder = os.environ.get(FILE), os.environ.get(FOLDER)
    return Trusted(file and _file(FILE, file), folder and _folder(FOLDER, folder))


def context() -> ssl.SSLContext:
    """The settings of a TLS connection that trusts these certificates. Raises InputError as `trusted`."""
    found = trusted()
    return ssl.create_default_context(cafile=found.file, capath=found.folder)


def refusal(error: ssl.SSLCertVerificationError, owner: str) -> str:
    """Describe a certificate that is not accepted, and the variable to set where that can help."""
    hint = f"; {HINT}" if error.verify_code in UNKNOWN_ISSUER else ""
    return f"the certificate of {owner} is not accepted: {error.verify_message.rstrip('.')}{hint}"


def _file(name: str, place: str) -> str:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(place)
    except ssl.SSLError as error:
        raise InputError(f"{name}: {place} is no PEM file of certificates") from error
    except (OSError, ValueError) as error:
        raise _unusable(name, place, error) from error
    return place


def _folder(name: str, place: str) -> str:
    """Check that one of the folders, separated as in PATH, can be read."""
    problem: Exception | None = None
    for folder in place.split(os.pathsep):
        try:
            next(Path(folder).iterdir(), None)
            return place
        except (OSError, ValueError) as error:
            problem = error
    assert problem is not None
    raise _unusable(name, place, problem) from problem


def _unusable(name: str, place: str, error: Exception) -> InputError:
    return InputError(f"{name}: {place} cannot be read: {getattr(error, 'strerror', None) or error}")
