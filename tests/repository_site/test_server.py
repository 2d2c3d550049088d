"""The real thing: `manage.py serve` and `demo` as processes, with their own embedded database, killed and restarted."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from repository_site import environment
from repository_site.server import Bind

pytestmark = pytest.mark.server
INFO = "/demo/showcase/_api/rest/info"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """One `manage.py` server process on a port and data folder of its own."""

    def __init__(self, data_dir: Path, port: int) -> None:
        self.data_dir, self.port = data_dir, port
        self.log = data_dir.parent / "server.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *words: str) -> None:
        environ = {**os.environ, "REPOSITORY_DATA_DIR": str(self.data_dir), "REPOSITORY_BODY_LIMIT": "1000"}
        environ |= {"DJANGO_SETTINGS_MODULE": "repository_site.settings", "DATABASE_URL": ""}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", *words, "--bind", f"127.0.0.1:{self.port}"],
                cwd=environment.PROJECT_DIR,
                env=environ,
                stdout=log,
                stderr=log,
            )
        self.wait_until_ready()

    def wait_until_ready(self, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.request("GET", "/readyz")[0] == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            chunked = isinstance(body, list)
            connection.request(method, path, body=body, headers=headers or {}, encode_chunked=chunked)
            response = connection.getresponse()
            content = response.read()
            return response.status, json.loads(content) if content else None
        finally:
            connection.close()

    def stop(self, sent: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(sent)
        return self.process.wait(30)

    def left_over(self) -> list[str]:
        """Every process that has to do with this data folder or port."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            if any(str(self.data_dir) in word or word.endswith(f":{self.port}") for word in words):
                found.append(" ".join(words))
        return found

    def wait_until_nothing_is_left(self, seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while self.left_over() and time.monotonic() < end:
            time.sleep(0.1)
        assert self.left_over() == []


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One data folder for the file: each test starts on what the one before has left, as an operator does."""
    return tmp_path_factory.mktemp("server") / "var"


@pytest.fixture
def server(data_dir: Path) -> Iterator[Server]:
    server = Server(data_dir, free_port())
    yield server
    if server.process is not None and server.process.poll() is None:
        server.process.kill()
        server.process.wait(10)
    server.wait_until_nothing_is_left()


def test_the_demo_from_start_to_ctrl_c(server: Server) -> None:
    server.start("demo")
    status, info = server.request("GET", INFO)
    assert (status, info["type"], info["title"]) == (200, "IStorageContext", "Showcase")
    assert info["apiUrl"] == f"http://127.0.0.1:{server.port}/demo/showcase/_api"
    token = server.log.read_text().partition("Token")[2].split()[0]
    assert server.request("GET", INFO, headers={"Authorization": f"Bearer {token}"})[0] == 200
    assert server.request("GET", INFO, headers={"Authorization": "Bearer crt_wrong"})[0] == 401
    assert server.request("HEAD", INFO) == (200, None)
    assert server.request("DELETE", INFO)[0] == 405
    assert server.stop(signal.SIGINT) == 0
    assert server.left_over() == []


def test_bodies_over_real_http(server: Server) -> None:
    server.start("demo")
    json_type = {"Content-Type": "application/json"}
    assert server.request("POST", INFO, b"")[0] == 200
    assert server.request("POST", INFO, [b""], {**json_type, "Transfer-Encoding": "chunked"})[0] == 200
    chunked = server.request("POST", INFO, [b'{"a":', b"1}"], {**json_type, "Transfer-Encoding": "chunked"})
    assert (chunked[0], chunked[1]["message"]) == (400, "This operation reads: send no body.")
    assert server.request("POST", INFO, b"x" * 1001, json_type)[0] == 413
    too_long = server.request("POST", INFO, [b"x" * 600, b"x" * 600], {"Transfer-Encoding": "chunked"})
    assert too_long[0] == 413


def test_kill_9_during_requests_then_the_demo_again(server: Server) -> None:
    server.start("demo")
    stop = threading.Event()
    answered = []

    def ask() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                answered.append(server.request("GET", INFO)[0])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(answered) < 50:
        time.sleep(0.01)
    server.stop(signal.SIGKILL)
    server.start("demo")
    assert server.request("GET", INFO)[0] == 200
    stop.set()
    for thread in threads:
        thread.join()
    assert set(answered) == {200}


def workers_of(pid: int) -> list[psutil.Process]:
    found = []
    for child in psutil.Process(pid).children():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if "manage.py" in child.cmdline():
                found.append(child)
    return found


def replaced(killed: psutil.Process, workers: list[psutil.Process]) -> bool:
    return len(workers) == 2 and killed not in workers


def test_a_killed_worker_is_replaced(server: Server) -> None:
    server.start("serve", "--workers", "2")
    assert server.process is not None
    first = workers_of(server.process.pid)
    assert len(first) == 2
    first[0].kill()
    end = time.monotonic() + 20
    while time.monotonic() < end and not replaced(first[0], workers_of(server.process.pid)):
        time.sleep(0.1)
    assert replaced(first[0], workers_of(server.process.pid))
    assert server.request("GET", INFO)[0] == 200
    assert server.stop(signal.SIGTERM) == 0


def test_a_port_in_use_is_one_line(server: Server) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = subprocess.run(
            [sys.executable, "manage.py", "serve", "--no-migrate", "--bind", f"127.0.0.1:{port}"],
            cwd=environment.PROJECT_DIR,
            env={**os.environ, "REPOSITORY_DATA_DIR": str(server.data_dir), "DATABASE_URL": ""},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert result.returncode == 1
    assert f"CommandError: cannot listen on 127.0.0.1:{port} (Address already in use)" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("text", ["8000", "host:", ":80", "host:99999", "host:http", ""])
def test_addresses_to_bind(text: str) -> None:
    with pytest.raises(ValueError, match="no address to bind"):
        Bind.parse(text)
    assert Bind.parse("[::1]:80") == Bind("::1", 80)
