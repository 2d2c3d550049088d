"""A worker that takes others for dead after seconds: `python -m tests.working_jobs.impatient_worker JOBS`.

A test that kills workers a hundred times would otherwise wait for most of its time.
"""

from __future__ import annotations

import sys

import django

TIMES = {"STALLED_SECONDS": 4.0, "SWEEP_SECONDS": 1.0, "HEARTBEAT_SECONDS": 1.0, "PATIENCE": 2.0}


def main(jobs: int) -> None:
    django.setup()

    from storage.jobs import worker

    for name, seconds in TIMES.items():
        setattr(worker, name, seconds)
    worker.run_worker(jobs)


if __name__ == "__main__":
    main(int(sys.argv[1]))
