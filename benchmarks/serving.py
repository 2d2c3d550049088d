"""Any WSGI program under the server of the service, with the same settings: `python -m benchmarks.serving x:y`."""

from __future__ import annotations

import argparse

import django

from benchmarks.installation import WORKERS
from repository_site.operations.server import Bind, run_server

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("target", help="module:factory")
    parser.add_argument("--bind", type=Bind.argument)
    options = parser.parse_args()
    django.setup()
    run_server(options.bind, WORKERS, options.target)
