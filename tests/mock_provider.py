"""`oidc-provider-mock`, an OpenID Connect provider from PyPI, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from types import TracebackType
from urllib.request import urlopen

from tests.server_process import free_port


class MockProvider:
    def __init__(self) -> None:
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> MockProvider:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "oidc_provider_mock", "--port", str(self.port), "--host", "127.0.0.1"],
            env={**os.environ, "AUTHLIB_INSECURE_TRANSPORT": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + 30
        while True:
            try:
                with urlopen(f"{self.issuer}/.well-known/openid-configuration", timeout=5):
                    return self
            except OSError:
                assert time.monotonic() < end
                assert self._process.poll() is None
                time.sleep(0.1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(10)
