"""`make attack`: measure the growth of work, run the tests of known attacks and the fuzzer with every caller and all
phases, and print figures."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import django

from tests import figures
from tests.attack.repelled import ATTACKS, run_tests

if TYPE_CHECKING:
    from tests.attack.attack import Battlefield

DEFAULT = 10
"""Random cases for each operation and caller; the other cases follow from the document."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("callers", nargs="*", help="who attacks; all, if none is named")
    parser.add_argument("--cases", type=int, default=DEFAULT, help=f"random cases an operation and caller ({DEFAULT})")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from tests.attack.attack import AGENT, CALLERS, Battlefield, prepare
    from tests.server_process import free_port

    began, failed = time.monotonic(), 0
    if not options.callers:
        with timed("growth of work"):
            failed += measure_growth()
        with timed(f"{len(ATTACKS)} known attacks"):
            told = run_tests()
            failed += bool(told)
            sys.stdout.write(told)
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        server = prepare(Path(folder), free_port())
        try:
            with timed("preparing two storages"):
                server.start("serve", "--workers", "2")
                battlefield = Battlefield(server)
            with timed("preflight requests, and messages of an agent that may write"):
                wrong = battlefield.preflights() + battlefield.send_messages(AGENT, options.cases)[1]
                failed += bool(wrong)
                sys.stdout.write("".join(f"{each}\n" for each in wrong))
            callers = options.callers or CALLERS
            for number, caller in enumerate(callers, 1):
                with timed(f"{caller}, {number} of {len(callers)}"):
                    failed += attack_as(battlefield, caller, options.cases)
        finally:
            server.kill()
    say(f"{'failed' if failed else 'all repelled'} in {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


def measure_growth() -> int:
    """Return how many places work more than in proportion to their input."""
    from tests.attack.growth import grows_too_fast
    from tests.attack.hostile_inputs import places

    too_fast = [place.name for place in places() if grows_too_fast(place)]
    for name in too_fast:
        say(f"  {name}: the work grows faster than the input")
    return len(too_fast)


def attack_as(battlefield: Battlefield, caller: str, cases: int) -> int:
    """Return whether the fuzzer has found a problem."""
    outcome = battlefield.attack([caller], "examples,coverage,fuzzing,stateful", cases)
    numbers, wrong = battlefield.send_messages(caller, cases)
    cases, failures = outcome.cases + numbers.total(), (outcome.wrong or int(bool(outcome.told))) + len(wrong)
    say(f"  {cases} cases, {failures} wrong")
    sys.stdout.write(outcome.told + "".join(f"{each}\n" for each in wrong))
    figures.note("attacks", caller, cases=cases, failures=failures)
    return bool(failures)


@contextmanager
def timed(part: str) -> Iterator[None]:
    """Say which part begins, and how long it has taken."""
    say(f"{part} ...")
    began = time.monotonic()
    yield
    say(f"  {time.monotonic() - began:.0f} s")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
