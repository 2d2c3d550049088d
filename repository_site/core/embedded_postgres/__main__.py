"""For operators: `python -m repository_site.core.embedded_postgres status DATA_FOLDER`. `keep` is the keeper."""

from __future__ import annotations

import sys
from pathlib import Path

from . import EmbeddedPostgres, EmbeddedPostgresError, keeper
from .paths import ServerPaths


def main(arguments: list[str]) -> None:
    match arguments:
        case ["keep", folder]:
            keeper.keep(ServerPaths(EmbeddedPostgres(Path(folder)).data_dir))
        case ["status", folder]:
            running, pid, users = EmbeddedPostgres(Path(folder)).status()
            answer = f"running, pid {pid}, users: {'unknown' if users is None else users}" if running else "stopped"
            sys.stdout.write(answer + "\n")
        case _:
            sys.exit("usage: python -m repository_site.core.embedded_postgres status|keep DATA_FOLDER")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (EmbeddedPostgresError, OSError) as error:
        sys.exit(str(error))
