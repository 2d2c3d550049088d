"""The pool of connections of a server process."""

from __future__ import annotations

import threading

from django.db import connections


def enable_pool(size: int) -> None:
    """Give this process a pool of connections; a request takes one and hands it back when it is done."""
    connections.settings["default"]["OPTIONS"]["pool"] = {"min_size": 1, "max_size": size, "timeout": 10}


def renew_pool() -> None:
    """After a failure: look at the idle connections and replace the dead ones, aside from the request.

    Otherwise each of them would fail one more request; looking at each before use would cost every request.
    """
    pool = getattr(connections["default"], "pool", None)
    if pool is not None:
        threading.Thread(target=pool.check, daemon=True).start()
