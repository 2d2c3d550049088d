"""The state that Django keeps for each thread, in the memory of the thread (D612)."""

from __future__ import annotations

import threading
from typing import Any

from django.conf import LazySettings
from django.core.cache import caches
from django.db import connections
from django.urls import base
from django.utils import timezone
from django.utils.translation import trans_real

# The attributes in which Django keeps prefix, URLconf, time zone, language and caches of a thread.
PLACES: tuple[tuple[Any, str], ...] = (
    (base, "_prefixes"),
    (base, "_urlconfs"),
    (timezone, "_active"),
    (trans_real, "_active"),
    (caches, "_connections"),
)


def keep_connections_in_threads() -> None:
    """Keep the database connections of a thread in its memory. Only threads of the process may use them."""
    connections._connections = threading.local()  # type: ignore[attr-defined]  # the stubs do not know it


def keep_state_in_threads() -> None:
    """Do the same for the attributes in `PLACES`, and read settings as plain attributes.

    A short request makes some sixty such look-ups. Each takes about a tenth of the time.
    """
    for owner, name in PLACES:
        setattr(owner, name, threading.local())
    # Settings cache values in their `__dict__`. The inherited method redirects special methods, which they do not need.
    LazySettings.__getattribute__ = object.__getattribute__  # type: ignore[method-assign]
