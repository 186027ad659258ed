"""Certificates that connections trust: those that variables of the environment name, else the usual ones.

The variables are those of requests, curl and OpenSSL. All that are set count together, and replace the usual ones.
See https://docs.openssl.org/master/man3/SSL_CTX_load_verify_locations/
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import requests.certs

from pipelines.errors import InputError

FILE, FOLDER = "SSL_CERT_FILE", "SSL_CERT_DIR"
BUNDLE = "REQUESTS_CA_BUNDLE"
VARIABLES = (FILE, FOLDER, BUNDLE, "CURL_CA_BUNDLE")
HINT = f"{FILE} (or {BUNDLE}) may name a PEM file of the certificates to trust, such as your company's"
UNKNOWN_ISSUER = {2, 18, 19, 20, 21}
"""Codes of OpenSSL for a certificate that nothing trusted has signed: another list of trusted ones helps."""


def context() -> ssl.SSLContext:
    """Make the settings of TLS connections that trust these certificates.

    Raises InputError for a variable that names nothing usable.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    named = [(name, place) for name in VARIABLES if (place := os.environ.get(name))]
    for name, place in named:
        _trust(made, name, place)
    if not named:
        made.load_default_certs()
        made.load_verify_locations(requests.certs.where())
    return made


def refusal(error: ssl.SSLCertVerificationError, owner: str) -> str:
    """Describe a certificate that is not accepted, and the variable to set where that can help."""
    hint = f"; {HINT}" if error.verify_code in UNKNOWN_ISSUER else ""
    return f"the certificate of {owner} is not accepted: {error.verify_message.rstrip('.')}{hint}"


def _trust(made: ssl.SSLContext, name: str, place: str) -> None:
    """Trust the certificates of a file, or of folders that are separated as in PATH."""
    folders = [folder for folder in place.split(os.pathsep) if Path(folder).is_dir()]
    try:
        if folders:
            for folder in folders:
                next(Path(folder).iterdir(), None)
                made.load_verify_locations(capath=folder)
        else:
            made.load_verify_locations(cafile=place)
    except ssl.SSLError as error:
        raise InputError(f"{name}: {place} is not a PEM file of certificates") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: {place} cannot be read: {getattr(error, 'strerror', None) or error}") from error
