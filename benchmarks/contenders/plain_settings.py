"""Settings for plain DRF: those of the service, with the middleware and renderers of a new project."""

from __future__ import annotations

import os

from repository_site.settings import *  # noqa: F403  # a settings module
from repository_site.settings import DATABASES

ROOT_URLCONF = "benchmarks.contenders.plain"
ALLOWED_HOSTS = ["*"]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
REST_FRAMEWORK = {"DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"]}
# Each connection sets the storage once; the policies of the tables do the rest.
DATABASES["default"]["OPTIONS"]["options"] = f"-c repository.storage={os.environ['BENCHMARK_STORAGE']}"
