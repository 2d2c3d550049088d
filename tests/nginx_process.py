"""nginx with the example configuration of docs/how-to/files, in front of servers on this machine."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.deployment_programs import FILES, program, run
from tests.server_process import free_port

HOST = "repository.example.org"
SERVER_LINE = "server 127.0.0.1:8000 max_fails=1 fail_timeout=2s;"


@dataclass(frozen=True, slots=True)
class Proxy:
    plain: int
    tls: int
    certificate: Path

    def connect(self, *, plain: bool = False) -> http.client.HTTPConnection:
        if plain:
            return http.client.HTTPConnection("127.0.0.1", self.plain, timeout=60)
        context = ssl.create_default_context(cafile=self.certificate)
        context.check_hostname = False  # it is reached by its address
        return http.client.HTTPSConnection("127.0.0.1", self.tls, timeout=60, context=context)

    def get(
        self, path: str, *, plain: bool = False, length: int = 0, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, str]:
        announced = {"Content-Length": str(length)} if length else {}
        with contextlib.closing(self.connect(plain=plain)) as connection:
            connection.request("GET", path, headers={"Host": HOST, **headers, **announced})
            response = connection.getresponse()
            return response, response.read().decode()


@contextlib.contextmanager
def running_nginx(folder: Path, ports: Sequence[int]) -> Iterator[Proxy]:
    """Run nginx in front of the servers on these ports."""
    nginx, openssl = program("nginx"), program("openssl")
    made = Proxy(free_port(), free_port(), folder / "fullchain.pem")
    run(
        openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
        "-subj", f"/CN={HOST}", "-keyout", str(folder / "key.pem"), "-out", str(made.certificate),
    )  # fmt: skip
    shutil.copy(FILES / "nginx-proxy.conf", folder / "repository-proxy.conf")
    site = (FILES / "nginx.conf").read_text(encoding="utf-8")
    for there, here in {
        "/etc/ssl/repository": str(folder),
        "/etc/nginx": str(folder),
        SERVER_LINE: "\n".join(SERVER_LINE.replace("8000", str(port)) for port in ports),
        "    listen [::]:80;\n": "",
        "    listen [::]:443 ssl http2;\n": "",
        "listen 80;": f"listen 127.0.0.1:{made.plain};",
        "listen 443 ssl http2;": f"listen 127.0.0.1:{made.tls} ssl http2;",
    }.items():
        assert there in site
        site = site.replace(there, here)
    kept = " ".join(
        f"{name}_temp_path {folder}/{name};" for name in ("proxy", "fastcgi", "uwsgi", "scgi", "client_body")
    )
    account = "user root;" if os.geteuid() == 0 else ""
    whole = folder / "nginx.conf"
    whole.write_text(
        f"{account} daemon off; pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off; {kept} {site} }}"
    )
    with (folder / "nginx.log").open("w") as log:
        process = subprocess.Popen([nginx, "-p", str(folder), "-c", str(whole)], stderr=log)
    try:
        _wait_for(made, process, folder / "nginx.log")
        yield made
    finally:
        process.terminate()
        process.wait(timeout=60)


def _wait_for(proxy: Proxy, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(ConnectionRefusedError):
            proxy.get("/", plain=True, headers={})
            return
        time.sleep(0.01)
    raise AssertionError(log.read_text())
