"""Addresses that a server listens on. Needs nothing but Python: `make demo` checks its port before it installs."""

from __future__ import annotations

import argparse
import errno
import socket
import sys
from dataclasses import dataclass

SUGGESTED_PORT = 8080


class PortProblem(Exception):
    """The port cannot be used; the message has no next step, which depends on the caller."""


@dataclass(frozen=True, slots=True)
class Bind:
    host: str
    port: int

    @classmethod
    def argument(cls, text: str) -> Bind:
        """Parse an argument of the command line."""
        host, separator, port = text.rpartition(":")
        if not separator or not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise argparse.ArgumentTypeError(f"{text!r}: expected HOST:PORT, such as 127.0.0.1:8000")
        return cls(host.strip("[]"), int(port))

    def __str__(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self}"


def check_port(host: str, port: int) -> None:
    """Raise PortProblem unless this process could listen there.

    The server shares its port between workers (SO_REUSEPORT), so it would share it with a stranger, too.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # Not SO_REUSEPORT: the port must be free. SO_REUSEADDR ignores connections of an earlier server in TIME_WAIT.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE:
                raise PortProblem(
                    f"Port {port} is in use. Stop the process that uses this port, or choose another"
                ) from None
            raise PortProblem(f"Cannot listen on {host}:{port} ({problem.strerror}). Choose another") from None


def suggest_port(host: str) -> int:
    """Return a free port for an example: 8080, or the next one up. Without a free one nearby, 8080."""
    for port in range(SUGGESTED_PORT, SUGGESTED_PORT + 100):
        try:
            check_port(host, port)
        except PortProblem:
            continue
        return port
    return SUGGESTED_PORT


def main(port: str, example: str) -> None:
    """Check PORT of the Makefile. `example` is a call with another port, which is written as {port}."""
    host = "127.0.0.1"
    if not port.isdecimal() or not 0 < int(port) < 65536:
        shown = example.format(port=suggest_port(host))
        sys.exit(f"error: PORT={port}: expected a number from 1 to 65535, such as: {shown}")
    try:
        check_port(host, int(port))
    except PortProblem as problem:
        sys.exit(f"error: {problem}: {example.format(port=suggest_port(host))}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
