"""The site: settings and addresses, the server in `operations`, and the base of every app in `core`."""

__version__ = "0.1.0"
