"""Server worker that drops headers with underscores before the WSGI application sees them (D209).

WSGI names `X-Forwarded-For` and `X_Forwarded_For` alike, and granian's own WSGI interface keeps the last one: a client
could replace the header of a trusted proxy. Granian's ASGI interface has the names as they were sent. This module calls
the WSGI application from there, in the same threads as granian's WSGI worker; the event loop only waits for bodies and
for clients that read slowly.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import unquote_to_bytes

import structlog
from django.conf import settings
from granian import _granian, _signals
from granian.server.common import WORKERS_METHODS
from granian.server.mp import WorkerProcess

from repository_site.core.fairness.admission import AFTER_SENDING
from repository_site.core.fairness.unread_responses import LARGE, MEDIUM, MediumResponses
from repository_site.operations import balance
from storage.events.waking import stop_waiting

log = structlog.get_logger("server")
# Granian's own types of these differ from what it accepts.
_worker: Any = _granian.ASGIWorker
_signals_of: Any = _signals.set_loop_signals
WsgiApplication = Callable[[dict[str, Any], Callable[..., None]], Iterable[bytes]]
# Names of headers in the environment. Clients choose names, so the number that is kept is limited.
_names: dict[bytes, str] = {}
MOST_NAMES = 1_000
# Headers with a variable of their own, and cookies, which cannot be joined by commas.
OWN_NAMES = {b"content-type": "CONTENT_TYPE", b"content-length": "CONTENT_LENGTH"}
JOINTS = {"HTTP_COOKIE": ";"}
# Seconds before each check for a result. Even a pause of 0 lets the server thread run.
PAUSES = (0, 0.00002, 0.00004, 0.00008)
# Bytes of a large response that are sent at once: so much of it may be unread when it no longer counts as unread.
PIECE = 128 * 1024
VERSIONS = {"1": "HTTP/1", "1.0": "HTTP/1", "1.1": "HTTP/1.1"}


class DirectScheduler(_granian.CallbackScheduler):
    """Calls the application in the server thread that received the request, instead of the event loop."""

    __slots__ = ()

    def __init__(self, loop: Any, call: Any, task: Any, enter: Any, leave: Any) -> None:
        super().__init__()
        self._schedule_fn = call


@WorkerProcess.wrap_target  # type: ignore[untyped-decorator]  # granian's decorators have no types
def spawn_worker(
    worker_id: int, application: WsgiApplication, sock: Any, ipc: Any, loop: asyncio.AbstractEventLoop,
    runtime_mode: Any, runtime_threads: int, runtime_blocking_threads: int | None, blocking_threads: int,
    blocking_threads_idle_timeout: int, backpressure: int, task_impl: Any, http_mode: Any, http1_settings: Any,
    http2_settings: Any, websockets: bool, static_path: Any, log_access_fmt: str | None, ssl_ctx: Any,
    scope_opts: dict[str, Any], metrics: Any,
) -> None:  # fmt: skip
    """Serve the application; granian calls this in each worker process with its settings."""
    balance.balance.join(worker_id - 1)
    stopping = _signals_of(loop)
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, _stop, stopping)
    stopped = asyncio.Event()
    stopping.add_cb(lambda: loop.call_soon_threadsafe(stopped.set))
    worker = _worker(
        worker_id, sock, ipc, runtime_threads, runtime_blocking_threads, blocking_threads,
        blocking_threads_idle_timeout, backpressure, http_mode, http1_settings, http2_settings, False, static_path,
        *ssl_ctx, metrics,
    )  # fmt: skip
    serve = getattr(worker, WORKERS_METHODS[runtime_mode][(sock[0] or sock[1]).is_uds()])
    serve(DirectScheduler(loop, Gateway(application, loop).handle, None, None, None), loop, stopping)
    loop.run_until_complete(stopped.wait())


def _stop(stopping: Any) -> None:
    """Stop the worker. Clients that wait for changes are answered at once; the server waits for all responses."""
    stop_waiting()
    stopping.set()


class Gateway:
    def __init__(self, application: WsgiApplication, loop: asyncio.AbstractEventLoop) -> None:
        self.application = application
        self.loop = loop
        self.balance = balance.balance
        self.medium = MediumResponses(settings.STREAM_TIMEOUT + MEDIUM / settings.STREAM_RATE)
        # Without the variables of this process (D214).
        self.basic_environment: dict[str, Any] = {
            "GATEWAY_INTERFACE": "CGI/1.1",
            "SCRIPT_NAME": "",
            "SERVER_SOFTWARE": "Granian",
            "wsgi.errors": sys.stderr,
            "wsgi.input_terminated": True,
            "wsgi.multiprocess": False,
            "wsgi.multithread": True,
            "wsgi.run_once": False,
            "wsgi.version": (1, 0),
        }

    def handle(self, watcher: Any) -> None:
        after: list[Callable[[], None]] = []

        def end(problem: BaseException | None) -> None:
            # The functions refer to the request, whose environment refers to this list (D211).
            while after:
                try:
                    after.pop()()
                except Exception:  # the remaining functions must run
                    log.exception("work after a response failed")
            if problem is None:
                watcher.done()
            else:
                watcher.err(problem)

        try:
            rest = self._work(watcher.scope, watcher.proto, after)
        except BaseException as problem:
            end(problem)
        else:
            if rest is None:
                end(None)
            else:
                sending = asyncio.run_coroutine_threadsafe(rest, self.loop)
                sending.add_done_callback(lambda sent: end(sent.exception()))

    def _work(
        self, scope: dict[str, Any], protocol: Any, after: list[Callable[[], None]]
    ) -> Coroutine[Any, Any, None] | None:
        """Respond, and count the request while this thread works on it. A client that waits for changes does not
        count."""
        if b"wait=" in scope["query_string"]:
            return self._respond(scope, protocol, after, is_work=False)
        self.balance.begin()
        try:
            return self._respond(scope, protocol, after, is_work=True)
        finally:
            self.balance.end()

    def _respond(
        self, scope: dict[str, Any], protocol: Any, after: list[Callable[[], None]], *, is_work: bool
    ) -> Coroutine[Any, Any, None] | None:
        """Send the response. Return the rest of a large one, to be sent as fast as the client reads it: it needs
        neither a thread nor a connection to the database any more."""
        self.medium.note_request(scope["client"])
        body = RequestBody(protocol, self.wait, settings.STREAM_TIMEOUT, settings.STREAM_RATE)
        environment = self.basic_environment | environment_of(scope)
        environment["wsgi.input"] = body
        environment[AFTER_SENDING] = after
        start: list[Any] = []
        response = self.application(environment, lambda status, headers, error=None: start.extend((status, headers)))
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in start[1]]
        if is_work and self.balance.has_too_much():
            headers.append((b"connection", b"close"))
        try:
            protocol.send({"type": "http.response.start", "status": int(start[0][:3]), "headers": headers})
            if isinstance(response, list) or not getattr(response, "streaming", True):
                content = b"".join(response)
                size = len(content)
                if size > LARGE and scope["method"] != "HEAD" and not self.medium.take(scope["client"], size):
                    body.drain()
                    return _send_in_pieces(content, protocol)
                protocol.send({"type": "http.response.body", "body": content, "more_body": False})
            else:
                self._stream(response, protocol, body)
        finally:
            if hasattr(response, "close"):
                response.close()
        return None

    def _stream(self, pieces: Iterable[bytes], protocol: Any, body: RequestBody) -> None:
        """Send pieces as fast as the client reads them, and stop when it disconnects."""
        body.drain()
        disconnected = protocol.receive()
        try:
            for piece in pieces:
                self.wait(protocol.send({"type": "http.response.body", "body": piece, "more_body": True}))
                if disconnected.done():
                    return
            protocol.send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            disconnected.cancel()

    def wait(self, awaitable: Any, seconds: float | None = None) -> Any:
        """Return the result of a call to the server, or raise TimeoutError. Most bodies have arrived with their
        headers: checking a few times is then faster than a trip through the event loop."""
        for pause in PAUSES if hasattr(awaitable, "done") else ():
            time.sleep(pause)
            if awaitable.done():
                return awaitable.result()
        result = asyncio.run_coroutine_threadsafe(_result(awaitable), self.loop)
        try:
            return result.result(seconds)
        except TimeoutError:
            result.cancel()
            raise


async def _send_in_pieces(content: bytes, protocol: Any) -> None:
    disconnected = protocol.receive()
    try:
        for start in range(0, len(content), PIECE):
            piece = content[start : start + PIECE]
            await protocol.send({"type": "http.response.body", "body": piece, "more_body": True})
            if disconnected.done():
                return
        await protocol.send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        disconnected.cancel()


async def _result(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


class RequestBody:
    """The `wsgi.input` of a request. `read` waits until the client has sent that much, or everything.

    The client has `seconds`, and one more for every `rate` bytes that it has sent (D198). Only the time spent waiting
    for the client counts, because the server itself may be busy.
    """

    def __init__(self, protocol: Any, wait: Callable[[Awaitable[Any], float], Any], seconds: float, rate: int) -> None:
        self.protocol = protocol
        self.wait = wait
        self.seconds, self.rate = seconds, rate
        self.waited, self.received = 0.0, 0
        self.buffer = bytearray()
        self.is_complete = False

    def read(self, size: int = -1) -> bytes:
        while not self.is_complete and (size < 0 or len(self.buffer) < size):
            self._receive()
        end = len(self.buffer) if size < 0 else size
        found = bytes(self.buffer[:end])
        del self.buffer[:end]
        return found

    def readline(self, size: int = -1) -> bytes:
        while not self.is_complete and b"\n" not in self.buffer and (size < 0 or len(self.buffer) < size):
            self._receive()
        end = self.buffer.find(b"\n") + 1 or len(self.buffer)
        return self.read(end if size < 0 else min(end, size))

    def readlines(self, hint: int = -1) -> list[bytes]:
        return list(self)

    def __iter__(self) -> RequestBody:
        return self

    def __next__(self) -> bytes:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def drain(self) -> None:
        with suppress(OSError):
            while not self.is_complete:
                self._receive()
                self.buffer.clear()

    def _receive(self) -> None:
        left = self.seconds + self.received / self.rate - self.waited
        began = time.monotonic()
        try:
            message = self.wait(self.protocol.receive(), max(0, left))
        except TimeoutError:
            self.is_complete = True
            raise
        self.waited += time.monotonic() - began
        if message["type"] == "http.disconnect":
            # The end of a chunked body is known only from its last chunk.
            self.is_complete = True
            raise OSError("The client has disconnected before the end of its body.")
        piece = message.get("body", b"")
        self.received += len(piece)
        self.buffer += piece
        self.is_complete = not message.get("more_body", False)


def environment_of(scope: dict[str, Any]) -> dict[str, Any]:
    """Return the WSGI variables of a request, without headers that have an underscore in their name."""
    server, client = scope["server"] or ("", 0), scope["client"] or ("", 0)
    found: dict[str, Any] = {
        "SERVER_PROTOCOL": VERSIONS.get(scope["http_version"], "HTTP/1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "REMOTE_ADDR": client[0],
        "REQUEST_METHOD": scope["method"],
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "wsgi.url_scheme": scope["scheme"],
        "HTTP_HOST": "",
    }
    seen: set[str] = set()
    for raw, value in scope["headers"]:
        name = _names.get(raw) or _name_of(raw)
        if name:
            # Values that are not ASCII count as empty, as in granian's own WSGI interface.
            text = value.decode("ascii") if value.isascii() else ""
            found[name] = f"{found[name]}{JOINTS.get(name, ',')}{text}" if name in seen else text
            seen.add(name)
    return found


def _name_of(raw: bytes) -> str:
    """Return the variable of a header; empty for a name with an underscore."""
    if b"_" in raw:
        return ""
    name = OWN_NAMES.get(raw) or f"HTTP_{raw.decode('latin-1').upper().replace('-', '_')}"
    if len(_names) < MOST_NAMES:
        _names[raw] = name
    return name
