"""The project's settings, with the tenant tables of `tests.shelves`, a fast password hasher and a cluster for tests.

The cluster has a data folder of its own, so that tests never touch the demo, and is not durable (`tests/databases.py`).
"""

import os

from repository_site.core.environment import PROJECT_DIR

# Whatever the environment says: tests turn durability off, which must not happen to anybody's data.
os.environ["REPOSITORY_DATA_DIR"] = str(PROJECT_DIR / "var" / "tests")

from repository_site.settings import *  # noqa: F403
from repository_site.settings import INSTALLED_APPS as PROJECT_APPS
from repository_site.settings import LOGGING as PROJECT_LOGGING

INSTALLED_APPS = [*PROJECT_APPS, "tests.shelves"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# pytest shows the log of a failed test. Rendering each line for stderr as well would take a twentieth of each request.
LOGGING = {**PROJECT_LOGGING, "handlers": {"stderr": {"class": "logging.NullHandler"}}}
# Otherwise every test client would search for all static files.
WHITENOISE_USE_FINDERS = False
PUBLIC_URL = ""
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
TRUSTED_PROXIES = ()
# A test must not run slower because the tests before it have used up a budget.
STORAGE_BUDGET = CALLER_BUDGET = None
