"""`manage.py` that starts at once: each command is a fork of a process that has loaded everything.

Pages show many commands, and most of what one takes is loading. Nothing else differs: a command has its own arguments,
folder, input and output, and its own connections. Settings are loaded already, so a command with other variables than
the process is refused: it would run without them.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

from repository_site.core.environment import PROJECT_DIR

VARIABLES = ("REPOSITORY_", "DJANGO_", "DATABASE_URL")
PROGRAM = """\
#!{python} -I
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    socket.send_fds(server, [json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()], [0, 1, 2])
    sys.exit(int(server.recv(16) or b"1"))
"""


class WarmCommands:
    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        folder.mkdir()
        self.program = folder / "manage.py"
        path = str(folder / "socket")
        self.program.write_text(PROGRAM.format(python=sys.executable, path=path))
        self.program.chmod(0o755)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm_commands", path], cwd=PROJECT_DIR, env=environ, stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ready\n"

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def serve(path: str) -> None:
    import django

    django.setup()
    from django.core.checks import run_checks

    run_checks()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        os.write(1, b"ready\n")
        while True:
            client, _ = listening.accept()
            request, files, _, _ = socket.recv_fds(client, 100_000, 3)
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                client.send(str(run(files, *json.loads(request))).encode())
                os._exit(0)
            for each in (client.detach(), *files):
                os.close(each)


def settings_in(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that settings depend on."""
    return {name: value for name, value in environ.items() if name.startswith(VARIABLES)}


def run(files: list[int], words: list[str], folder: str, environ: Mapping[str, str]) -> int:
    from repository_site.core.terminal.command_line import RepositoryCommandLine

    for number, file in enumerate(files):
        os.dup2(file, number)
    os.chdir(folder)
    code = 0
    try:
        if settings_in(environ) != settings_in(os.environ):
            sys.exit("This command has other variables than the process that runs it; start manage.py itself.")
        RepositoryCommandLine(words).execute()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            # As Python does at the end of a process.
            sys.stderr.write(f"{end.code}\n")
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    serve(sys.argv[1])
