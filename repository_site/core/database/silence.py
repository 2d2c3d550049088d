"""Waiting for the database with an eye on the clock: the driver waits forever, and so does Citus when it cancels a
statement on a node that is suspended (D309)."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from psycopg.abc import PQGen

# Seconds between two looks at the clock.
INTERVAL = 0.1
# Each connection keeps the function of its transaction under this name.
LISTENER = "called_while_nothing_arrives"
Listener = Callable[[float], None]
"""Called with the seconds in which the server has sent nothing. It raises to give up; the connection is then closed."""


@contextmanager
def listening(driver: Any, listener: Listener) -> Iterator[None]:
    """Call the listener, instead of that of an outer block, while a statement of this connection waits for the
    server."""
    if "wait" not in driver.__dict__:
        known = weakref.ref(driver)
        driver.__dict__["wait"] = lambda *arguments, **named: _wait(known(), *arguments, **named)
    outer, driver.__dict__[LISTENER] = driver.__dict__.get(LISTENER), listener
    try:
        yield
    finally:
        driver.__dict__[LISTENER] = outer


def _wait(driver: Any, generator: PQGen[Any], interval: float = INTERVAL, timeout: float | None = None) -> Any:
    listener = driver.__dict__.get(LISTENER)
    # The class of pooled connections has a method of its own (D609).
    wait: Callable[..., Any] = type(driver).wait
    return wait(driver, generator if listener is None else _heard(driver, generator, listener), interval, timeout)


def _heard(driver: Any, generator: PQGen[Any], listener: Listener) -> PQGen[Any]:
    heard = time.monotonic()
    try:
        wanted = next(generator)
        while True:
            ready = yield wanted
            if ready:
                heard = time.monotonic()
            else:
                _tell(driver, listener, time.monotonic() - heard)
            wanted = generator.send(ready)
    except StopIteration as end:
        return end.value


def _tell(driver: Any, listener: Listener, seconds: float) -> None:
    try:
        listener(seconds)
    except Exception:
        # It is unknown what the server does with the statement.
        driver.close()
        raise
