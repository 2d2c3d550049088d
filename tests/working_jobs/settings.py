"""The project's settings with the jobs of `tests.working_jobs`."""

from repository_site.settings import *  # noqa: F403
from repository_site.settings import INSTALLED_APPS as PROJECT_APPS

INSTALLED_APPS = [*PROJECT_APPS, "tests.working_jobs"]
