"""Settings of the plain comparison: ours, with the middleware and renderers that a new project has."""

from __future__ import annotations

import os

from psycopg.conninfo import conninfo_to_dict

from repository_site.settings import *  # noqa: F403  # a settings module
from repository_site.settings import DATABASES

ROOT_URLCONF = "benchmarks.plain"
ALLOWED_HOSTS = ["*"]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
REST_FRAMEWORK = {"DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"]}
_address = conninfo_to_dict(os.environ["BENCHMARK_DATABASE"])
DATABASES["default"] |= {"NAME": _address["dbname"], "USER": _address["user"], "HOST": _address["host"]}
