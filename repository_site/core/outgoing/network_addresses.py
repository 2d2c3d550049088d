"""Addresses that users name and the service connects to: nobody reaches the inside of the network with them (D365).

A name is resolved once, all its addresses are checked, and the connection goes to a checked address, so the name cannot
lead elsewhere in between.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

LONGEST_NAME = 253
# Seconds that a look-up may take.
LOOK_UP_SECONDS = 3.0
PORTS = {"http": 80, "https": 443}
Address = IPv4Address | IPv6Address
# What `is_global` of the oldest supported Python does not know, and an address of a cloud that only its machines reach.
_INSIDE = tuple(
    ip_network(text) for text in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "2001::/23", "3fff::/20")
)
_UNICAST = ip_network("2000::/3")
# Routers translate these to the IPv4 address in their last 32 bits.
_NAT64 = ip_network("64:ff9b::/96")


class AddressRefused(Exception):
    """The service does not connect to an address; the message says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a URL. `host` is ASCII, in the form that DNS and certificates have."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def server_name(self) -> str:
        """The name that a certificate must have."""
        return self.host.rstrip(".")


def check_address(url: str) -> str:
    """Return the problem of a URL that somebody wants to save; nothing if the service would connect to it."""
    try:
        target = parse_target(url)
        checked_addresses(target)
    except AddressRefused as problem:
        return str(problem)
    return ""


def parse_target(url: str) -> Target:
    """Return the parts of a URL; raise AddressRefused for one that is not http or https, or not plain."""
    if any(character <= " " or character in "\\\x7f" for character in url):
        raise AddressRefused(_("Expected an address without spaces, control characters and backslashes."))
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressRefused(_("Expected an address such as https://example.org/hook.")) from None
    if parts.scheme not in PORTS or not parts.hostname:
        raise AddressRefused(_("Expected an address such as https://example.org/hook."))
    if "@" in parts.netloc:
        raise AddressRefused(_("Expected an address without a user name and a password."))
    if "#" in url:
        raise AddressRefused(_("Expected an address without a fragment (#)."))
    if port == 0:
        raise AddressRefused(_("Expected a port from 1 to 65535."))
    path = _ascii_path(parts.path or "/") + (f"?{_ascii_path(parts.query)}" if parts.query else "")
    return Target(parts.scheme, _ascii_host(parts.hostname), port or PORTS[parts.scheme], path)


def checked_addresses(target: Target, seconds: float = LOOK_UP_SECONDS) -> Sequence[Address]:
    """Return all addresses of a host; raise AddressRefused if the service may not connect to one of them."""
    found = _look_up(target.host, target.port, seconds)
    for each in found:
        if not is_allowed(each):
            # Which address a name has inside the network is not for everybody to know.
            raise AddressRefused(
                _("The address of %s is private, local or reserved. REPOSITORY_WEBHOOK_NETWORKS can allow it.")
                % target.host
            )
    return found


def is_allowed(address: Address) -> bool:
    """Return whether an address is public, or in a network that the operator allows."""
    reached = _reached(address)
    for network in settings.WEBHOOK_NETWORKS:
        if any(each.version == network.version and each in network for each in (address, reached)):
            return True
    return _is_public(reached)


def _reached(address: Address) -> Address:
    """Return the address that packets for an address reach: IPv6 addresses can contain an IPv4 address."""
    if isinstance(address, IPv4Address):
        return address
    inner = IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
    return address.ipv4_mapped or address.sixtofour or inner or address


def _is_public(address: Address) -> bool:
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    if isinstance(address, IPv6Address) and address not in _UNICAST:
        return False
    return not any(address in network for network in _INSIDE if network.version == address.version)


def _ascii_host(host: str) -> str:
    if "%" in host:
        raise AddressRefused(_("Expected an address without a zone (%)."))
    try:
        plain = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        plain = ""
    if not plain or len(plain) > LONGEST_NAME or any(character in "/?#@[]<>^`{|}\"'" for character in plain):
        raise AddressRefused(_("Expected a host name such as example.org."))
    return plain.lower()


def _ascii_path(path: str) -> str:
    return path if path.isascii() else "".join(_quoted(character) for character in path)


def _quoted(character: str) -> str:
    return character if character.isascii() else "".join(f"%{byte:02X}" for byte in character.encode())


def _look_up(host: str, port: int, seconds: float) -> Sequence[Address]:
    """Resolve a name in a thread, because a look-up has no timeout. A hanging one ends by that of the resolver."""
    found: list[Address] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            # Also understands decimal, octal and hexadecimal spellings, as every connection would.
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.extend(dict.fromkeys(ip_address(str(row[4][0]).partition("%")[0]) for row in rows))
        except (OSError, UnicodeError, ValueError) as problem:
            failed.append(problem)

    thread = threading.Thread(target=run, name="look-up", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise AddressRefused(_("Looking up %s takes too long.") % host)
    if failed or not found:
        raise AddressRefused(_("%s does not exist, according to the name service.") % host)
    return found
