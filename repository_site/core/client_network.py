"""Whose requests are counted together (D145): one IPv4 address, or the /64 that one IPv6 customer has at the least."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network

from django.http import HttpRequest

UNKNOWN = "unknown"
IPV6_PREFIX = 64


def client_network(request: HttpRequest) -> str:
    """Of the client, as far as proxies that are trusted tell it (`TrustedProxyMiddleware`)."""
    return network_of(request.META.get("REMOTE_ADDR", ""))


def network_of(address: str) -> str:
    """Whoever has one address of a /64 can use them all: counted one by one they would cost nothing."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return UNKNOWN
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((int(parsed), IPV6_PREFIX), strict=False))
