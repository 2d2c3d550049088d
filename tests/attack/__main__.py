"""`make attack`: measure the growth of work, run the fuzzer with every caller and all phases, and print figures."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import django

DEFAULT = 10
"""Random cases for each operation and caller; the other cases follow from the document."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("callers", nargs="*", help="who attacks; all, if none is named")
    parser.add_argument("--cases", type=int, default=DEFAULT, help=f"random cases an operation and caller ({DEFAULT})")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from tests import figures
    from tests.attack.attack import CALLERS, Battlefield, prepare
    from tests.attack.growth import grows_too_fast
    from tests.attack.hostile_inputs import places
    from tests.server_process import free_port

    failed = 0
    if not options.callers:
        too_fast = [place.name for place in places() if grows_too_fast(place)]
        sys.stdout.write("".join(f"{name}: the work grows faster than the input\n" for name in too_fast))
        failed += len(too_fast)
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        server = prepare(Path(folder), free_port())
        server.start("serve", "--workers", "2")
        try:
            battlefield = Battlefield(server)
            for caller in options.callers or CALLERS:
                outcome = battlefield.attack([caller], "examples,coverage,fuzzing,stateful", options.cases)
                sys.stdout.write(f"{caller}: {outcome.cases} cases in {outcome.seconds:.0f} s\n")
                sys.stdout.write(outcome.told)
                failed += bool(outcome.told)
                figures.note("attacks", caller, cases=outcome.cases, failures=outcome.wrong or int(bool(outcome.told)))
        finally:
            server.kill()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
