"""Settings of the plain comparison: ours, with the middleware and renderers that a new project has."""

from __future__ import annotations

import os

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
# All rows of one storage: which one is said once a connection, and the policies of the tables do the rest.
DATABASES["default"]["OPTIONS"]["options"] = f"-c repository.storage={os.environ['BENCHMARK_STORAGE']}"
