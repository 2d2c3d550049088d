"""Limits of tokens beside their roles: networks (D488) and scope (D489)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from django.urls import get_resolver
from django.utils.translation import gettext as _

from repository_site.core.problems import placed
from repository_site.core.wording import printable, similar_hint
from storage.access.callers import UNLIMITED, Scope
from storage.extension import storage_extensions
from storage.models import ApiToken, Storage
from storage.tenancy.scope import tenant_scope

MOST_NETWORKS = 50
FACET = "facet"


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """Limits of a token. Empty means unlimited."""

    networks: Sequence[str] = ()
    is_read_only: bool = False
    facets: Sequence[str] = ()
    operations: Sequence[str] = ()

    def of_storage(self, storage: Storage | None, kept: Iterable[str] = ()) -> tuple[TokenLimits, list[str]]:
        """Return the limits as they are stored, and the problems with them. A token may keep facets that are gone:
        without its only one, it would have no limit any more."""
        networks, problems = _networks(self.networks)
        names = [*facet_names(storage), *kept] if storage and self.facets else ()
        facets, unknown = _known(self.facets, names, "facets")
        given = [_documented().get(each.strip().lower(), each) for each in self.operations]
        operations, strange = _known(given, operation_ids() if given else (), "operations")
        return TokenLimits(networks, self.is_read_only, facets, operations), problems + unknown + strange


def scope_of(token: ApiToken) -> Scope:
    if not (token.is_read_only or token.facets or token.operations):
        return UNLIMITED
    return Scope(
        token.is_read_only,
        frozenset(token.facets) if token.facets else None,
        frozenset(token.operations) if token.operations else None,
    )


def is_within(address: str, networks: Sequence[str]) -> bool:
    """Return whether an address belongs to one of the networks. An unknown address belongs to none."""
    try:
        parsed = ip_address(address)
        if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
            parsed = parsed.ipv4_mapped
        return any(parsed in _network(each) for each in networks)
    except ValueError:
        return False


@lru_cache(maxsize=1024)
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text)


def _networks(given: Iterable[str]) -> tuple[list[str], list[str]]:
    found, problems = [], []
    for text in given:
        try:
            found.append(str(ip_network(text.strip())))
        except ValueError:
            problems.append(placed("networks", _not_a_network(text.strip())))
    found = list(dict.fromkeys(found))
    if len(found) > MOST_NETWORKS:
        problems.append(placed("networks", _("more than %(limit)d networks.") % {"limit": MOST_NETWORKS}))
    return found, problems[:MOST_NETWORKS]


def _not_a_network(text: str) -> str:
    words = {"text": printable(text, 50)}
    try:
        words["network"] = str(ip_network(text, strict=False))
    except ValueError:
        return _("“%(text)s” is not a network; expected one such as 192.0.2.0/24 or 2001:db8::/32.") % words
    return _("“%(text)s” names a host and a network; use %(network)s.") % words


def _known(given: Iterable[str], known: Iterable[str], place: str) -> tuple[list[str], list[str]]:
    """Return the names that exist, in their exact form, and problems with the others."""
    exact = {each.lower(): each for each in known}
    names = list(dict.fromkeys(each.strip() for each in given))
    found = [exact[each.lower()] for each in names if each.lower() in exact]
    problems = [
        placed(place, _("“%(name)s” is unknown") % {"name": printable(each, 50)} + similar_hint(each, exact.values()))
        for each in names
        if each.lower() not in exact
    ]
    return sorted(set(found)), problems[:MOST_NETWORKS]


def facet_names(storage: Storage) -> list[str]:
    """Return the names of the facets of a storage, which higher apps know."""
    current = Storage(id=storage.id)
    with tenant_scope(current):
        found = [extension.filter_names(current) for extension in storage_extensions if extension.filter_names]
    return sorted({name for names in found for name in names.get(FACET, ())})


@cache
def operation_ids() -> frozenset[str]:
    """Return the ids of all operations of the API, as its addresses declare them."""
    return frozenset(id for id, _ending in _operations(get_resolver().url_patterns))


@cache
def _documented() -> dict[str, str]:
    """Return the ids of operations by those of the OpenAPI document, in lower case. It tells the addresses and methods
    of one operation apart; a token can use all of them, or none."""
    found = _operations(get_resolver().url_patterns)
    return {f"{id}{ending}{post}".lower(): id for id, ending in found for post in ("", "ByPost")}


def _operations(patterns: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for each in patterns:
        yield from _operations(getattr(each, "url_patterns", ()))
        view = getattr(each, "callback", None)
        for action in getattr(view, "actions", {}).values():
            operation = getattr(getattr(view.cls, action), "operation", None)  # type: ignore[union-attr]  # a viewset
            if operation is not None:
                yield operation.id, view.initkwargs.get("id_suffix", "")  # type: ignore[union-attr]  # a viewset
