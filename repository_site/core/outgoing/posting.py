"""One request to an address that a user has named (D365).

The address is checked, everything has a deadline, redirects and proxies are ignored, and little of the answer is read.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from django.utils.http import parse_http_date_safe
from django.utils.translation import gettext as _

from repository_site.core.outgoing.network_addresses import (
    Address,
    AddressRefused,
    Target,
    checked_addresses,
    parse_target,
)

CONNECT_SECONDS = 3.0
# From the look-up of the name to the end of the answer.
WHOLE_SECONDS = 10.0
# Bytes of an answer that are read, with its headers.
READ_BYTES = 65536


@dataclass(frozen=True, slots=True)
class OutgoingAnswer:
    """The end of a request. Without a status, `error` says why."""

    status: int | None
    error: str
    milliseconds: int
    body: bytes = b""
    retry_after: float = 0.0
    """Seconds after which the receiver wants the next request."""


def post(url: str, headers: Mapping[str, str], body: bytes) -> OutgoingAnswer:
    return send("POST", url, headers, body)


def send(method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> OutgoingAnswer:
    """Send a request and return its answer. The status counts, however the answer ends."""
    began = time.monotonic()
    status, error, answer, retry_after = None, "", b"", 0.0
    try:
        status, retry_after, answer = _exchange(method, parse_target(url), headers, body, began + WHOLE_SECONDS)
    except TimeoutError:
        error = _("No answer within %d seconds.") % WHOLE_SECONDS
    except AddressRefused as problem:
        error = str(problem)
    except ssl.SSLCertVerificationError as problem:
        error = _("The certificate is not valid: %s.") % problem.verify_message
    except (OSError, http.client.HTTPException, ValueError) as problem:
        error = _reason(problem)
    return OutgoingAnswer(status, error, round((time.monotonic() - began) * 1000), answer, retry_after)


def _reason(problem: Exception) -> str:
    """Return an error as one line that the database can store: it can contain what the receiver has sent."""
    text = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return f"{type(problem).__name__}: {' '.join(text.split())}".replace("\0", "\ufffd")[:500]


def _exchange(
    method: str, target: Target, headers: Mapping[str, str], body: bytes, end: float
) -> tuple[int, float, bytes]:
    connection = CheckedConnection(target, end)
    try:
        connection.putrequest(method, target.path, skip_host=True, skip_accept_encoding=True)
        own = {"Host": target.host_header, "Connection": "close", "Content-Length": str(len(body))}
        for name, value in (own | dict(headers)).items():
            connection.putheader(name, value.encode())
        connection.endheaders(body)
        with connection.getresponse() as answer:
            return answer.status, seconds_of(answer.getheader("Retry-After", "")), _beginning(answer)
    finally:
        connection.close()


def seconds_of(retry_after: str) -> float:
    """Return the seconds until the time that a Retry-After header names; 0 if it names none."""
    text = retry_after.strip()
    if text.isdecimal():
        return float(text)
    moment = parse_http_date_safe(text)
    return max(0.0, moment - time.time()) if moment else 0.0


def _beginning(answer: http.client.HTTPResponse) -> bytes:
    """Read the answer until it ends, breaks off, takes too long or becomes too large."""
    parts = []
    try:
        while part := answer.read1(READ_BYTES):
            parts.append(part)
    except (OSError, http.client.HTTPException, ValueError):
        pass
    return b"".join(parts)


class CheckedConnection(http.client.HTTPConnection):
    """A connection to a checked address of a host. The request and the certificate still have the name of the host."""

    def __init__(self, target: Target, end: float) -> None:
        super().__init__(target.host, target.port)
        self.target = target
        self.end = end

    def connect(self) -> None:
        plain = self._connect_to_one(min(self.end, time.monotonic() + CONNECT_SECONDS))
        try:
            if self.target.scheme == "https":
                plain.settimeout(_left(self.end))
                plain = _tls().wrap_socket(plain, server_hostname=self.target.server_name)
            self.sock = LimitedSocket(plain, self.end)
        except BaseException:
            plain.close()
            raise

    def _connect_to_one(self, end: float) -> socket.socket:
        """Try the addresses in their order. Each gets an equal part of the time that is left."""
        addresses = checked_addresses(self.target, _left(end))
        problem: OSError = TimeoutError()
        for index, address in enumerate(addresses):
            try:
                seconds = _left(end) / (len(addresses) - index)
                return _dial(address, self.port, seconds)
            except OSError as failed:
                problem = failed
        raise problem


def _dial(address: Address, port: int, seconds: float) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    plain = socket.socket(family, socket.SOCK_STREAM)
    try:
        plain.settimeout(seconds)
        plain.connect((str(address), port))
    except BaseException:
        plain.close()
        raise
    return plain


class LimitedSocket:
    """A socket with a deadline, however often something arrives, and with a limit of bytes that can be read."""

    def __init__(self, plain: socket.socket, end: float) -> None:
        self._plain = plain
        self._end = end
        self._is_read = False

    def sendall(self, data: bytes) -> None:
        # `sendall` of a TLS socket would wait as long for each part.
        rest = memoryview(data)
        while rest:
            self._plain.settimeout(_left(self._end))
            rest = rest[self._plain.send(rest) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        self._is_read = True
        return io.BufferedReader(_LimitedReader(self._plain, self._end))

    def close(self) -> None:
        """Leave the end to the reader, if there is one: the connection is closed before its last answer is read."""
        if not self._is_read:
            self._plain.close()


class _LimitedReader(io.RawIOBase):
    def __init__(self, plain: socket.socket, end: float) -> None:
        self._plain = plain
        self._end = end
        self._bytes_left = READ_BYTES

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._plain.close()
        super().close()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what BufferedReader gives
        if not self._bytes_left:
            raise ValueError(_("The headers of the answer are too long."))
        self._plain.settimeout(_left(self._end))
        size = self._plain.recv_into(buffer, min(len(buffer), self._bytes_left))
        self._bytes_left -= size
        return size


def _left(end: float) -> float:
    """Return the seconds until a time; raise TimeoutError if it has passed."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


@cache
def _tls() -> ssl.SSLContext:
    """Verify certificates against the authorities of the system, or of SSL_CERT_FILE."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
