"""Requests by libcurl: their limits, proxies and certificates, and the meaning of their errors.

libcurl limits the headers of a response and ends a transfer that is slower than LEAST_RATE, whether it sends a body,
headers, interim responses or nothing. See https://curl.se/libcurl/c/CURLOPT_LOW_SPEED_TIME.html. Certificates are those
that the variables of requests, curl and OpenSSL name; all variables that are set are added up and replace the usual
ones. No error shows more of a URL than its host.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import math
import os
import ssl
import urllib.parse
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import certifi
import pycurl

from dialogue_warehouse.common.files import read_regular
from dialogue_warehouse.errors import InputError

CONNECT_SECONDS = 10.0
"""Longest wait for a connection."""
LEAST_RATE = 250
"""Smallest rate of a transfer, in bytes a second; a modem is faster."""
CHUNK = 2**18
"""Largest number of bytes that are read at once; an attempt that received this number made progress."""
ABORT = -1
"""Result of a callback that ends its request."""
VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
HINT = "SSL_CERT_FILE (or REQUESTS_CA_BUNDLE) may name a PEM file of the certificates to trust, such as your company's"
UNKNOWN_ISSUER = {2, 18, 19, 20, 21}
"""OpenSSL's codes for a certificate without a trusted issuer: another list of trusted certificates can help."""
UNREACHABLE = {
    pycurl.E_COULDNT_RESOLVE_PROXY: "its name is not known",
    pycurl.E_COULDNT_RESOLVE_HOST: "its name is not known",
    pycurl.E_COULDNT_CONNECT: "no answer",
}
CUT = {pycurl.E_PARTIAL_FILE, pycurl.E_GOT_NOTHING, pycurl.E_RECV_ERROR, pycurl.E_SEND_ERROR}
PROXY_SCHEMES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")


class UnavailableError(Exception):
    """A file is not available; `cause` is the same text for each file that fails for the same cause."""

    def __init__(self, cause: str, helps_by_hand: bool = True) -> None:
        super().__init__(cause)
        self.cause, self.helps_by_hand = cause, helps_by_hand


class TransientError(Exception):
    """An attempt failed, and a retry may succeed; `seconds` is the time that the server requests to wait."""

    def __init__(self, cause: str, seconds: float = 0.0, is_unreachable: bool = False) -> None:
        super().__init__(cause)
        self.cause, self.seconds, self.is_unreachable = cause, seconds, is_unreachable


def host_of(url: str) -> str:
    """Return the host of a URL, `host:port` or `file://`, without credentials."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://" if parts.scheme == "file" else parts.netloc.rpartition("@")[2]


def perform(
    curl: pycurl.Curl, url: str, seconds: float, options: dict[int, Any], most_seconds: float = math.inf
) -> None:
    """Make a request with these options of libcurl; a callback may end it by ABORT, or by an error, which is raised.

    A server that sends fewer than LEAST_RATE bytes a second for this time is given up, and so is a request that
    takes longer than `most_seconds`. Raises UnavailableError,
    TransientError, and InputError for variables of the environment that cannot be used.
    """
    raised: list[BaseException] = []
    curl.reset()  # connections stay open
    if most_seconds < math.inf:
        curl.setopt(pycurl.TIMEOUT_MS, math.ceil(1000 * most_seconds))
    for option, value in (_usual_options(url, seconds) | options).items():
        curl.setopt(option, _keeping_errors(value, raised) if callable(value) else value)
    try:
        curl.perform()
    except pycurl.error as error:
        if raised:
            raise raised[0] from None
        if error.args[0] != pycurl.E_WRITE_ERROR:  # a callback's ABORT
            raise _meaning(curl, error.args[0], url, seconds, most_seconds) from error


def _usual_options(url: str, seconds: float) -> dict[int, Any]:
    proxy = _proxy(url)
    usual: dict[int, Any] = {
        pycurl.URL: ascii_url(url),
        pycurl.PROXY: proxy,
        pycurl.NOSIGNAL: 1,
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
        pycurl.USERAGENT: f"dialogue-warehouse/{importlib.metadata.version('dialogue-warehouse')}",
        pycurl.NETRC: pycurl.NETRC_OPTIONAL,
        pycurl.BUFFERSIZE: CHUNK,
        pycurl.CONNECTTIMEOUT_MS: int(1000 * CONNECT_SECONDS),
        pycurl.LOW_SPEED_LIMIT: LEAST_RATE,
        pycurl.LOW_SPEED_TIME: math.ceil(seconds),
        pycurl.NOPROGRESS: 0,
        pycurl.XFERINFOFUNCTION: lambda *_: None,  # lets Python handle signals during the request
    }
    is_encrypted = any(one.lower().startswith(("https:", "smtp")) for one in (url, proxy))
    return usual | (_certificates() if is_encrypted else {})


def _keeping_errors(callback: Callable[..., Any], raised: list[BaseException]) -> Callable[..., Any]:
    """Keep an error of a callback, which pycurl would print and not raise."""

    def call(*arguments: Any) -> Any:
        try:
            return callback(*arguments)
        except BaseException as error:
            raised.append(error)
            return ABORT

    return call


def ascii_url(url: str) -> str:
    """Return a URL as HTTP writes it: a host in Punycode, and other characters as percent codes."""
    parts = urllib.parse.urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if not host.isascii():
        try:
            parts = parts._replace(netloc=f"{user}{at}{host.encode('idna').decode()}")
        except UnicodeError:
            raise UnavailableError(f"{host} is not a valid host") from None
    return urllib.parse.quote(parts.geturl(), safe="!#$%&'()*+,/:;=?@[]~")


def _proxy(url: str) -> str:
    """Return the proxy that the environment names for a URL, or ""; libcurl reads NO_PROXY itself.

    libcurl would not read HTTP_PROXY, and would not say which variable is wrong.
    """
    scheme = urllib.parse.urlsplit(url).scheme
    if scheme not in ("http", "https"):
        return ""
    for name in (f"{scheme}_proxy", f"{scheme}_proxy".upper(), "all_proxy", "ALL_PROXY"):
        if proxy := os.environ.get(name):
            try:
                parts = urllib.parse.urlsplit(proxy.strip() if "://" in proxy else f"http://{proxy.strip()}")
                if parts.scheme in PROXY_SCHEMES and parts.hostname and parts.port != 0:
                    return parts.geturl()
            except ValueError:
                pass
            raise InputError(f"{name}: not the URL of a proxy, http://HOST:PORT or https://HOST:PORT")
    return ""


def _certificates() -> dict[int, Any]:
    """Return the options for the trusted certificates. Raises InputError for a variable that names nothing usable."""
    named = [(name, place) for name in VARIABLES if (place := os.environ.get(name))]
    texts, folders = [], []
    for name, place in named:
        found = [folder for folder in place.split(os.pathsep) if Path(folder).is_dir()]
        try:
            for folder in found:
                next(Path(folder).iterdir(), None)
            if not found:
                texts.append(read_regular(Path(place)))
                known = texts[-1].decode("ascii", "ignore")
                ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=known)
        except (ssl.SSLError, ValueError) as error:
            raise InputError(f"{name}: {place} is not a PEM file of certificates") from error
        except OSError as error:
            raise InputError(f"{name}: {place} cannot be read: {error.strerror}") from error
        folders += found
    if not named:
        usual = ssl.get_default_verify_paths()
        texts = [certifi.contents().encode()]
        if usual.cafile:
            with contextlib.suppress(OSError):  # certifi's certificates are enough for most servers
                texts.append(read_regular(Path(usual.cafile)))
        folders = [usual.capath] if usual.capath else []
    folder = os.pathsep.join(folders) or None
    options: dict[int, Any] = {pycurl.CAPATH: folder, pycurl.PROXY_CAPATH: folder}
    if not texts:
        return options | {pycurl.CAINFO: None, pycurl.PROXY_CAINFO: None}
    text = b"\n".join(texts)
    return options | {pycurl.CAINFO_BLOB: text, pycurl.PROXY_CAINFO_BLOB: text}


def _meaning(
    curl: pycurl.Curl, code: int, url: str, seconds: float, most_seconds: float
) -> UnavailableError | TransientError:
    """Return the error that a code of libcurl means. See https://curl.se/libcurl/c/libcurl-errors.html."""
    host, status = host_of(url), curl.getinfo(pycurl.RESPONSE_CODE)
    is_sent = curl.getinfo(pycurl.CONNECT_TIME) or curl.getinfo(pycurl.REQUEST_SIZE)
    if code == pycurl.E_PEER_FAILED_VERIFICATION:
        of_proxy, of_host = curl.getinfo(pycurl.PROXY_SSL_VERIFYRESULT), curl.getinfo(pycurl.SSL_VERIFYRESULT)
        owner = f"the proxy for {host}" if of_proxy else host
        hint = f"; {HINT}" if (of_proxy or of_host) in UNKNOWN_ISSUER else ""
        return UnavailableError(f"the certificate of {owner} is not accepted: {curl.errstr()}{hint}")
    if status >= HTTPStatus.BAD_REQUEST:
        return TransientError(f"{host} responded with {status}")
    if code == pycurl.E_URL_MALFORMAT:
        return UnavailableError(f"{host} is not a valid host")
    if code == pycurl.E_USE_SSL_FAILED:
        return UnavailableError(f"{host} offers no encryption")
    if code == pycurl.E_SSL_CONNECT_ERROR:
        return TransientError(f"{host} cannot be reached over TLS", is_unreachable=True)
    if code in UNREACHABLE or (code == pycurl.E_OPERATION_TIMEDOUT and not is_sent):
        way = " through the proxy" if curl.getinfo(pycurl.USED_PROXY) else ""
        return TransientError(f"{host} cannot be reached{way} ({_reason(curl, code)})", is_unreachable=True)
    if code == pycurl.E_OPERATION_TIMEDOUT and curl.getinfo(pycurl.TOTAL_TIME) > 0.9 * most_seconds:
        return TransientError(f"{host} took longer than {most_seconds:g} s")
    if code == pycurl.E_OPERATION_TIMEDOUT:
        return TransientError(f"{host} sent fewer than {LEAST_RATE} bytes a second for {seconds:g} s")
    if code in CUT:
        return TransientError(f"{host} cut the connection")
    return TransientError(f"{host} sent an invalid response (error {code} of libcurl)")


def _reason(curl: pycurl.Curl, code: int) -> str:
    """Return the reason that a connection failed, never in the words of a server."""
    if status := curl.getinfo(pycurl.HTTP_CONNECTCODE):
        return f"it responded with {status}"
    if code == pycurl.E_COULDNT_CONNECT and (number := curl.getinfo(pycurl.OS_ERRNO)):
        return os.strerror(number)
    return UNREACHABLE.get(code, "no answer")
