"""Run a WSGI program under the server of the service: `python -m benchmarks.contenders.serving MODULE:FACTORY`."""

from __future__ import annotations

import argparse

import django

from repository_site.core.ports import Bind
from repository_site.operations.server import run_server

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("target", help="module:factory")
    parser.add_argument("--bind", type=Bind.argument)
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    django.setup()
    run_server(options.bind, options.workers, options.target)
