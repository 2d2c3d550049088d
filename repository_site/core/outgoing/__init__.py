"""Requests to addresses that users name (D365)."""

from repository_site.core.outgoing.network_addresses import AddressRefused, check_address
from repository_site.core.outgoing.posting import OutgoingAnswer, post, send

__all__ = ["AddressRefused", "OutgoingAnswer", "check_address", "post", "send"]
