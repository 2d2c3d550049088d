"""The site: settings and addresses at the top, operation of the server, and in `core` the base of every app."""

__version__ = "0.1.0"
