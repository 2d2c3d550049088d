"""Check of the port before anything else is done. Needs nothing but Python: `make demo` calls it before it installs."""

from __future__ import annotations

import errno
import socket
import sys


class PortProblem(Exception):
    """The port cannot be used; the message has no next step, which depends on the caller."""


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


def main(port: str, example: str) -> None:
    if not port.isdecimal() or not 0 < int(port) < 65536:
        sys.exit(f"error: PORT={port}: expected a number from 1 to 65535, such as: {example}")
    try:
        check_port("127.0.0.1", int(port))
    except PortProblem as problem:
        sys.exit(f"error: {problem}: {example}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
