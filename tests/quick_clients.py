"""Test clients and values of threads that cost less, with the same requests (D601)."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from django.conf import LazySettings
from django.core.signals import setting_changed
from django.db import connections
from django.test import client
from django.urls import base
from django.utils.translation import trans_real


def share_middleware() -> None:
    """Let all clients use one chain of middleware until a setting changes, as the requests of a server do."""
    made = cache(client.ClientHandler)
    client.ClientHandler = made  # type: ignore[misc, assignment]

    def forget(**change: Any) -> None:
        made.cache_clear()

    setting_changed.connect(forget, weak=False, dispatch_uid=__name__)


def keep_values_by_thread() -> None:
    """Let Django find connection, language and address by the thread alone: no test runs an event loop in a thread that
    uses them. Its own class looks for one at each access. Settings need no check for methods of what they wrap."""
    values: Any
    LazySettings.__getattribute__ = object.__getattribute__  # type: ignore[method-assign]
    for values, name in (
        (connections, "_connections"),
        (trans_real, "_active"),
        (base, "_prefixes"),
        (base, "_urlconfs"),
    ):
        setattr(values, name, threading.local())
