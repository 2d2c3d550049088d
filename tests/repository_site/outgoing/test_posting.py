"""Requests to receivers that behave badly, and to receivers with certificates."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.utils.http import http_date
from pytest_django import Settings

from repository_site.core.outgoing import posting
from repository_site.core.outgoing.posting import OutgoingAnswer, post, seconds_of
from tests.receivers import OK, Receiver, receiving

WHOLE = 0.4
# Seconds that no request of these tests takes, unless it does not end at all.
LONG = 20


@pytest.fixture(autouse=True)
def _reach_this_machine(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)
    monkeypatch.setattr(posting, "WHOLE_SECONDS", 60.0)
    monkeypatch.setattr(posting, "CONNECT_SECONDS", 60.0)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short time for receivers that do not answer."""
    monkeypatch.setattr(posting, "WHOLE_SECONDS", WHOLE)


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def answered(answer: OutgoingAnswer) -> tuple[int | None, str, bytes]:
    return answer.status, answer.error, answer.body


def test_request_has_the_headers_and_the_body(receiver: Receiver) -> None:
    before = len(receiver.requests)
    answer = post(receiver.url("ok?a=1"), {"Content-Type": "application/json", "X-Name": "Grün"}, b'{"a": 1}')
    assert answered(answer) == (200, "", b"ok")
    (received,) = receiver.requests[before:]
    assert (received.line, received.body) == ("POST /ok?a=1 HTTP/1.1", b'{"a": 1}')
    assert received.headers == {
        "host": f"127.0.0.1:{receiver.port}",
        "connection": "close",
        "content-length": "8",
        "content-type": "application/json",
        "x-name": "Grün",
    }


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("accepted", (202, "", b"")),
        ("chunked", (200, "", b"hello")),
        ("broken", (500, "", b"no")),
        ("gone", (410, "", b"no")),
        ("redirect", (302, "", b"no")),
        ("too-long", (200, "", b"short")),
        ("too-short", (200, "", b"mu")),
        ("nonsense", (None, "BadStatusLine: not http at all", b"")),
        ("closes", (None, "RemoteDisconnected: Remote end closed connection without response", b"")),
        ("huge-headers", (None, "ValueError: The headers of the answer are too long.", b"")),
    ],
)
def test_answers(receiver: Receiver, path: str, expected: tuple[int | None, str, bytes]) -> None:
    assert answered(post(receiver.url(path), {}, b"{}")) == expected


@pytest.mark.long
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("path", ["hang", "drip-headers", "continue"])
def test_no_answer_within_the_time(receiver: Receiver, path: str) -> None:
    began = time.monotonic()
    answer = post(receiver.url(path), {}, b"{}")
    assert answered(answer) == (None, "No answer within 0 seconds.", b"")
    assert WHOLE <= time.monotonic() - began < LONG


@pytest.mark.long
def test_a_dripping_answer_ends_with_the_time(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    # The answer must have begun by then.
    monkeypatch.setattr(posting, "WHOLE_SECONDS", 1.0)
    began = time.monotonic()
    answer = post(receiver.url("drip-body"), {}, b"{}")
    assert (answer.status, answer.error, set(answer.body)) == (200, "", {ord("x")})
    assert 1 <= time.monotonic() - began < LONG


def test_only_the_first_part_of_a_large_answer_is_read(receiver: Receiver) -> None:
    answer = post(receiver.url("huge"), {}, b"{}")
    assert answer.status == 200
    assert 65_000 < len(answer.body) < 65_536


@pytest.mark.long
@pytest.mark.usefixtures("short")
def test_a_receiver_that_does_not_read_gets_no_more_time() -> None:
    """A body that is larger than the buffers of the connection waits for its receiver."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        answer = post(f"http://127.0.0.1:{silent.getsockname()[1]}/", {}, b"x" * 20_000_000)
    assert answered(answer) == (None, "No answer within 0 seconds.", b"")


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert answered(post(f"http://127.0.0.1:{port}/", {}, b"")) == (
        None,
        "ConnectionRefusedError: Connection refused",
        b"",
    )


def test_connecting_has_a_time_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full queue of connections answers nothing, like a machine that is gone."""
    monkeypatch.setattr(posting, "CONNECT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        waiting = [socket.create_connection(address)]
        began = time.monotonic()
        answer = post(f"http://127.0.0.1:{address[1]}/", {}, b"")
        for each in waiting:
            each.close()
    assert answer.status is None
    assert time.monotonic() - began < LONG


def test_the_next_address_is_tried(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(host: str, port: int, **options: object) -> list[object]:
        return [(2, 1, 6, "", (text, port)) for text in ("127.0.0.2", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    # Only 127.0.0.1 listens.
    assert post(f"http://several.example:{receiver.port}/ok", {}, b"").status == 200


def test_proxies_of_the_environment_are_ignored(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
            monkeypatch.setenv(name, proxy.url())
        assert post(receiver.url("ok"), {}, b"").status == 200
        assert proxy.connections == 0


@pytest.mark.parametrize(("name", "value"), [("X-A", "a\r\nX-B: b"), ("X-A\r\nX-B", "b")])
def test_headers_cannot_add_others(receiver: Receiver, name: str, value: str) -> None:
    answer = post(receiver.url("ok"), {name: value}, b"")
    assert (answer.status, answer.error.split(":")[0]) == (None, "ValueError")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of hooks.example, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hooks.example")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("hooks.example")]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    file = tmp_path_factory.mktemp("tls") / "hooks.pem"
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(private + made.sign(key, hashes.SHA256()).public_bytes(encoding))
    return file


@pytest.fixture
def tls_port(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, list[str]]]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    asked: list[str] = []
    context.sni_callback = lambda connection, name, _: asked.append(name or "")
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plain, _ = server.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(plain, server_side=True) as secure:
                    secure.recv(65536)
                    secure.sendall(OK)
            except OSError:
                plain.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    port = server.getsockname()[1]
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, **options: [(2, 1, 6, "", ("127.0.0.1", port))])
    yield port, asked
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(60)


def test_certificates_are_verified(
    tls_port: tuple[int, list[str]], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, asked = tls_port
    unknown = post(f"https://hooks.example:{port}/", {}, b"")
    assert (unknown.status, unknown.error) == (None, "The certificate is not valid: self-signed certificate.")
    monkeypatch.setattr(posting, "_tls", lambda: ssl.create_default_context(cafile=str(certificate)))
    assert answered(post(f"https://hooks.example:{port}/", {}, b"")) == (200, "", b"ok")
    assert answered(post(f"https://hooks.example.:{port}/", {}, b"")) == (200, "", b"ok")
    other = post(f"https://other.example:{port}/", {}, b"")
    assert other.status is None
    assert other.error.startswith("The certificate is not valid: Hostname mismatch")
    assert asked == ["hooks.example", "hooks.example", "hooks.example", "other.example"]


def test_a_receiver_that_takes_the_request_slowly_has_the_same_deadline() -> None:
    """A TLS socket sends a large body in parts, each of which would have all the time."""

    class SlowSocket:
        timeouts: list[float] = []

        def settimeout(self, seconds: float) -> None:
            self.timeouts.append(seconds)

        def send(self, data: memoryview) -> int:
            time.sleep(0.02)
            return 1

        def sendall(self, data: bytes) -> None:
            for _ in data:
                time.sleep(0.02)

    slow = SlowSocket()
    limited = posting.LimitedSocket(slow, time.monotonic() + 0.05)  # type: ignore[arg-type]  # has what is used
    with pytest.raises(TimeoutError):
        limited.sendall(b"x" * 10)
    assert slow.timeouts == sorted(slow.timeouts, reverse=True)
    assert len(slow.timeouts) <= 3


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120), (" 5 ", 5), ("", 0), ("-5", 0), ("soon", 0), ("9" * 400, float("inf")),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("Wed, 99 Oct 2015 07:28:00 GMT", 0),
    ],
)  # fmt: skip
def test_seconds_of_retry_after(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


def test_retry_after_can_be_a_date() -> None:
    assert 40 <= seconds_of(http_date(time.time() + 60)) <= 60
