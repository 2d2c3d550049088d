"""The WSGI application that a server loads."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "repository_site.settings")

application = get_wsgi_application()
