"""The service with stop-watches: the header `Server-Timing` of each response tells how long each stage took.

The watches wrap functions of the service from outside. A stage that another stage calls is counted once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

STAGES = ("server", "middleware", "authentication", "scope", "SQL", "assembly", "JSON")
SERVER, MIDDLEWARE, AUTHENTICATION, SCOPE, SQL, ASSEMBLY, JSON = STAGES


class StopWatch(threading.local):
    def __init__(self) -> None:
        self.taken: dict[str, float] = {}
        self.inner: list[float] = []

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        self.inner.append(0.0)
        try:
            yield
        finally:
            seconds = time.perf_counter() - started
            self.taken[stage] = self.taken.get(stage, 0.0) + seconds - self.inner.pop()
            if self.inner:
                self.inner[-1] += seconds

    def wrap(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            with self.measure(stage):
                return function(*args, **options)

        return timed


watch = StopWatch()


def application() -> Callable[..., Any]:
    from repository_site.operations.server import worker_application

    inner = worker_application()
    wrap_stages()

    def timed(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        watch.taken = {}
        started: list[Any] = []
        with watch.measure(MIDDLEWARE):
            body = inner(environ, lambda *args: started.append(args))
        status, headers, *_ = started[0]
        timing = ", ".join(f"{stage};dur={1000 * seconds:.4f}" for stage, seconds in watch.taken.items())
        start_response(status, [*headers, ("Server-Timing", timing)])
        return body

    return timed


def wrap_stages() -> None:
    from django.db.backends.utils import CursorWrapper

    from repository_site.core.database.base import DatabaseWrapper
    from repository_site.core.rest import rendering
    from storage.api import viewset
    from storage.tenancy.scope import tenant_scope

    class TimedScope:
        def __init__(self, *args: Any, **options: Any) -> None:
            self.scope = tenant_scope(*args, **options)

        def __enter__(self) -> None:
            with watch.measure(SCOPE):
                self.scope.__enter__()

        def __exit__(self, *error: Any) -> bool | None:
            with watch.measure(SCOPE):
                return self.scope.__exit__(*error)

    # Not with Django's execute wrappers: they would make the connection send statements one by one.
    look_up_all: Any = DatabaseWrapper.look_up_all

    def timed_look_up(self: Any, statements: Any, meanwhile: Any = None) -> Any:
        with watch.measure(SQL):
            return look_up_all(self, statements, watch.wrap(ASSEMBLY, meanwhile) if meanwhile else None)

    for owner, name, stage in (
        (viewset, "find_context", AUTHENTICATION),
        (viewset, "authenticate", AUTHENTICATION),
        (viewset, "throttle_caller", AUTHENTICATION),
        (viewset.ApiViewSet, "_answer", ASSEMBLY),
        (rendering, "to_json", JSON),
        (CursorWrapper, "execute", SQL),
    ):
        setattr(owner, name, watch.wrap(stage, getattr(owner, name)))
    setattr(viewset, "tenant_scope", TimedScope)  # noqa: B010  a class in place of a function
    setattr(DatabaseWrapper, "look_up_all", timed_look_up)  # noqa: B010  mypy takes no assignment to a method


def read_timing(header: str) -> dict[str, float]:
    """Return the seconds of each stage."""
    parts = (each.split(";dur=") for each in header.split(", "))
    return {stage: float(milliseconds) / 1000 for stage, milliseconds in parts}
