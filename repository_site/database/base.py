"""Django's PostgreSQL backend, except that a first connection starts the embedded server.

Starting lazily here, and not in the settings, keeps `--help`, type checking and schema tools free of a database.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        if settings.EMBEDDED_POSTGRES is not None:
            settings.EMBEDDED_POSTGRES.ensure_running()
        return super().get_new_connection(conn_params)
