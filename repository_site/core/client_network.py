"""The network of a client, by which requests are counted (D145): one IPv4 address, or an IPv6 /64."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network

from django.http import HttpRequest

UNKNOWN = "unknown"
IPV6_PREFIX = 64


def client_network(request: HttpRequest) -> str:
    """Return the network of the client. `TrustedProxyMiddleware` has set its address."""
    return network_of(request.META.get("REMOTE_ADDR", ""))


def network_of(address: str) -> str:
    """Return the network of an address. A client with one address of a /64 can use all of them."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return UNKNOWN
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((int(parsed), IPV6_PREFIX), strict=False))
