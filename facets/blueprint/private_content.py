"""Names that a configuration gives to private content (D396, D398): accounts of people and programs."""

from __future__ import annotations

from collections.abc import Mapping

from storage.options import Role

USER_TYPE, TOKEN_TYPE = "user", "authToken"
# The facet of the elements of tokens. Older templates do not say that it is hidden (D397).
TOKENS_FACET = "automation"
ROLE_ATTRIBUTES: Mapping[str, Role] = {f"role{role.value.capitalize()}": role for role in Role}
INACTIVE = "roleInactive"
# Attributes of a user that administrators and the person see: rights, and activity.
PRIVATE = frozenset({*ROLE_ATTRIBUTES, INACTIVE, "userFirstLogin", "userLastLogin", "userLoginCount"})
# If a program records sign-ins, these reveal the time of the last one. Colleagues need them to work on people.
TRACES = frozenset({"changedOn", "changedBy"})
