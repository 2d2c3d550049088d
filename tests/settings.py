"""The project's settings, with the test-only tenant tables of `tests.shelves` and a fast password hasher."""

from repository_site.settings import *  # noqa: F403
from repository_site.settings import INSTALLED_APPS as PROJECT_APPS

INSTALLED_APPS = [*PROJECT_APPS, "tests.shelves"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Each test client would look for all static files anew.
WHITENOISE_USE_FINDERS = False
PUBLIC_URL = ""
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
TRUSTED_PROXIES = ()
