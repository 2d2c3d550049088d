"""The service with a stop-watch in it: each answer says, in `Server-Timing`, which stage took how long.

The watches are hung in from outside, around functions that mark the stages; the service itself knows nothing of them.
What a stage has called that is a stage of its own is not counted twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SERVER, MIDDLEWARE, AUTHENTICATION, SCOPE, SQL, ASSEMBLY, JSON = STAGES = (
    "server", "middleware", "authentication", "scope", "SQL", "assembly", "JSON",
)  # fmt: skip


class Watch(threading.local):
    def __init__(self) -> None:
        self.took: dict[str, float] = {}
        self.inner: list[float] = []

    @contextmanager
    def of(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        self.inner.append(0.0)
        try:
            yield
        finally:
            seconds = time.perf_counter() - started
            self.took[stage] = self.took.get(stage, 0.0) + seconds - self.inner.pop()
            if self.inner:
                self.inner[-1] += seconds

    def around(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            with self.of(stage):
                return function(*args, **options)

        return timed


watch = Watch()


def application() -> Callable[..., Any]:
    """What the server calls in each worker process."""
    from repository_site.operations.server import worker_application

    inner = worker_application()
    _hang_in()

    def timed(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        watch.took = {}
        begun: list[Any] = []
        with watch.of(MIDDLEWARE):
            answer = inner(environ, lambda *args: begun.append(args))
        status, headers, *_ = begun[0]
        timing = ", ".join(f"{stage};dur={1000 * seconds:.4f}" for stage, seconds in watch.took.items())
        start_response(status, [*headers, ("Server-Timing", timing)])
        return answer

    return timed


def _hang_in() -> None:
    from django.db.backends.utils import CursorWrapper

    from repository_site.core.database.base import DatabaseWrapper
    from repository_site.core.rest import rendering
    from storage.api import viewset
    from storage.tenancy.scope import tenant_scope

    for name in ("find_context", "authenticate", "throttle_caller"):
        setattr(viewset, name, watch.around(AUTHENTICATION, getattr(viewset, name)))

    @contextmanager
    def timed_scope(*args: Any, **options: Any) -> Iterator[None]:
        scope = tenant_scope(*args, **options)
        with watch.of(SCOPE):
            scope.__enter__()
        try:
            yield
        except BaseException as error:
            with watch.of(SCOPE):
                if not scope.__exit__(type(error), error, error.__traceback__):
                    raise
        else:
            with watch.of(SCOPE):
                scope.__exit__(None, None, None)

    viewset.tenant_scope = timed_scope  # type: ignore[attr-defined]
    viewset.ApiViewSet._answer = watch.around(ASSEMBLY, viewset.ApiViewSet._answer)  # type: ignore[method-assign]
    rendering.to_json = watch.around(JSON, rendering.to_json)

    # Not by what Django offers for watching statements: those that are watched are sent one by one.
    look_up_all: Any = DatabaseWrapper.look_up_all

    def timed_look_up(self: Any, statements: Any, meanwhile: Any = None) -> Any:
        with watch.of(SQL):
            return look_up_all(self, statements, watch.around(ASSEMBLY, meanwhile) if meanwhile else None)

    DatabaseWrapper.look_up_all = timed_look_up  # type: ignore[method-assign]
    CursorWrapper.execute = watch.around(SQL, CursorWrapper.execute)  # type: ignore[method-assign]


def read_timing(header: str) -> dict[str, float]:
    """Seconds by stage."""
    parts = (each.split(";dur=") for each in header.split(", "))
    return {stage: float(milliseconds) / 1000 for stage, milliseconds in parts}
