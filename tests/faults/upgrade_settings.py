"""Settings of a future release, which adds the app `tests.faults.upgrade`."""

from repository_site.settings import *  # noqa: F403
from repository_site.settings import INSTALLED_APPS as PROJECT_APPS

INSTALLED_APPS = [*PROJECT_APPS, "tests.faults.upgrade"]
