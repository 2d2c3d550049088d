"""The guard of addresses that users name (D365)."""

from __future__ import annotations

import socket
import threading
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from pytest_django import Settings

from repository_site.core.outgoing import network_addresses, posting
from repository_site.core.outgoing.network_addresses import AddressRefused, check_address, is_allowed, parse_target
from tests.receivers import receiving

PRIVATE = """0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 169.254.1.1 169.254.169.254
    172.16.0.1 172.31.255.255 192.0.0.8 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.7 203.0.113.9
    224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 168.63.129.16
    :: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::a00:1
    64:ff9b:1::808:808 100::1 2001::1 2001:0:7f00:1::1 2001:2::1 2001:10::1 2001:db8::1 2002:7f00:1::1 2002:a00:1::
    2002:c0a8:101::5 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fd20:ce::254 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1
    4000::1 e000::1""".split()
PUBLIC = """8.8.8.8 1.1.1.1 93.184.215.14 172.15.0.1 172.32.0.1 192.0.1.1 100.128.0.1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8
    2002:808:808::1 2001:4860:4860::8888 2620:fe::fe 2a00:1450::1""".split()


@pytest.mark.parametrize("text", PRIVATE)
def test_inner_address_is_refused(text: str) -> None:
    assert is_allowed(ip_address(text)) is False


@pytest.mark.parametrize("text", PUBLIC)
def test_public_address_is_allowed(text: str) -> None:
    assert is_allowed(ip_address(text)) is True


@pytest.mark.parametrize(
    "host",
    """127.0.0.1 127.1 2130706433 0x7f000001 0x7f.0.0.1 0177.0.0.1 017700000001 localhost LOCALHOST
    [::1] [::ffff:127.0.0.1] [0:0:0:0:0:ffff:7f00:1] [64:ff9b::7f00:1] [2002:7f00:1::] 0 0.0.0.0 169.254.169.254 [fd00:ec2::254]
    １２７.０.０.１ ①②⑦.0.0.1 ⓛⓞⓒⓐⓛⓗⓞⓢⓣ 127。0。0。1""".split(),
)
def test_every_spelling_of_an_inner_address_is_refused(host: str) -> None:
    problem = check_address(f"http://{host}:8080/hook")
    assert problem.endswith("is private, local or reserved. REPOSITORY_WEBHOOK_NETWORKS can allow it."), problem


@pytest.mark.parametrize("host", ["127.0.0.1.", "localhost.", "localhost.localdomain", "local。host"])
def test_names_that_some_resolvers_know_as_local_are_refused(host: str) -> None:
    assert check_address(f"http://{host}/") != ""


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "Expected an address such as https://example.org/hook."),
        ("example.org/hook", "Expected an address such as https://example.org/hook."),
        ("//example.org/hook", "Expected an address such as https://example.org/hook."),
        ("ftp://example.org/", "Expected an address such as https://example.org/hook."),
        ("file:///etc/passwd", "Expected an address such as https://example.org/hook."),
        ("gopher://127.0.0.1:6379/_x", "Expected an address such as https://example.org/hook."),
        ("javascript:alert(1)", "Expected an address such as https://example.org/hook."),
        ("https:example.org", "Expected an address such as https://example.org/hook."),
        ("https://", "Expected an address such as https://example.org/hook."),
        ("https://:443/", "Expected an address such as https://example.org/hook."),
        ("https://[::1/", "Expected an address such as https://example.org/hook."),
        ("https://[nonsense]/", "Expected an address such as https://example.org/hook."),
        ("https://example.org:http/", "Expected an address such as https://example.org/hook."),
        ("https://example.org:65536/", "Expected an address such as https://example.org/hook."),
        ("https://example.org:-1/", "Expected an address such as https://example.org/hook."),
        ("https://example.org:0/", "Expected a port from 1 to 65535."),
        ("https://user@example.org/", "Expected an address without a user name and a password."),
        ("https://user:secret@example.org/", "Expected an address without a user name and a password."),
        ("https://example.org@127.0.0.1/", "Expected an address without a user name and a password."),
        ("https://example.org/#part", "Expected an address without a fragment (#)."),
        ("https://example.org/#", "Expected an address without a fragment (#)."),
        ("https://127.0.0.1\\@example.org/", "Expected an address without spaces, control characters and backslashes."),
        (" https://example.org/", "Expected an address without spaces, control characters and backslashes."),
        ("https://exam\nple.org/", "Expected an address without spaces, control characters and backslashes."),
        ("https://example.org/\r\nX: y", "Expected an address without spaces, control characters and backslashes."),
        ("https://exam\x00ple.org/", "Expected an address without spaces, control characters and backslashes."),
        ("https://[fe80::1%25eth0]/", "Expected an address without a zone (%)."),
        ("https://[fe80::1%eth0]/", "Expected an address without a zone (%)."),
        ("https://%31%32%37.0.0.1/", "Expected an address without a zone (%)."),
        (f"https://{'a' * 64}é.org/", "Expected a host name such as example.org."),
        (f"https://{'a.' * 130}org/", "Expected a host name such as example.org."),
        ("https://does-not-exist.invalid/", "does-not-exist.invalid does not exist, according to the name service."),
    ],
)
def test_malformed_address_is_refused(url: str, problem: str) -> None:
    assert check_address(url) == problem


def test_parts_of_an_address() -> None:
    found = parse_target("HTTPS://Bücher.Example:8443/hök?a=ü&b=%20")
    assert (found.scheme, found.host, found.port) == ("https", "xn--bcher-kva.example", 8443)
    assert (found.path, found.host_header) == ("/h%C3%B6k?a=%C3%BC&b=%20", "xn--bcher-kva.example:8443")
    plain = parse_target("http://[2A00:1450::1]")
    assert (plain.host_header, plain.port, plain.path) == ("[2a00:1450::1]", 80, "/")
    assert parse_target("https://example.org.").server_name == "example.org"


def names(monkeypatch: pytest.MonkeyPatch, **known: str) -> list[str]:
    """Let names have these addresses, and return the look-ups. Several of them are separated by commas."""
    looked_up: list[str] = []

    def look_up(host: str, port: int, **options: Any) -> list[Any]:
        looked_up.append(host)
        texts = known[host.partition(".")[0]].split(",")
        return [(socket.AF_INET6 if ":" in text else socket.AF_INET, 1, 6, "", (text, port)) for text in texts]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return looked_up


def test_one_private_address_of_several_is_enough_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, public="8.8.8.8,2a00:1450::1", mixed="8.8.8.8,10.0.0.1", last="8.8.8.8,1.1.1.1,fd00::1")
    assert check_address("https://public.example/") == ""
    for host in ("mixed.example", "last.example"):
        assert check_address(f"https://{host}/").startswith(f"The address of {host} is private")


def test_operator_allows_networks(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.WEBHOOK_NETWORKS = (ip_network("10.1.0.0/16"), ip_network("fd00::/8"))
    names(
        monkeypatch,
        inner="10.1.2.3",
        mapped="::ffff:10.1.2.3",
        ours="fd00::1",
        other="10.2.0.1",
        both="10.1.0.1,10.2.0.1",
    )
    found = {
        host: check_address(f"http://{host}.example/") == "" for host in ("inner", "mapped", "ours", "other", "both")
    }
    assert found == {"inner": True, "mapped": True, "ours": True, "other": False, "both": False}


def test_a_name_that_changes_its_address_after_it_was_saved_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as receiver:
        names(monkeypatch, rebound="8.8.8.8")
        url = f"http://rebound.example:{receiver.port}/ok"
        assert check_address(url) == ""
        names(monkeypatch, rebound="127.0.0.1")
        answer = posting.post(url, {}, b"{}")
        assert (answer.status, receiver.connections) == (None, 0)
        assert answer.error.startswith("The address of rebound.example is private")


def test_a_name_is_looked_up_once_for_each_request(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """A second look-up between check and connection could have another answer."""
    settings.WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)
    with receiving() as receiver:
        looked_up = names(monkeypatch, once="127.0.0.1")
        answer = posting.post(f"http://once.example:{receiver.port}/ok", {}, b"{}")
        assert (answer.status, looked_up) == (200, ["once.example"])
        assert receiver.requests[0].headers["host"] == f"once.example:{receiver.port}"


def test_a_look_up_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def hang(*args: Any, **options: Any) -> list[Any]:
        ended.wait(5)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    with pytest.raises(AddressRefused, match=r"Looking up slow\.example takes too long\."):
        network_addresses.checked_addresses(parse_target("https://slow.example/"), seconds=0.05)
    ended.set()
