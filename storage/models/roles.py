"""Roles of callers (D20), as tables use them."""

from storage.options import Role, parse_roles

__all__ = ["Role", "parse_roles"]
