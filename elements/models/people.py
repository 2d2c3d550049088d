"""Users and groups as models of their own for the back office, on the same tables as elements."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from elements.models.elements import Element
from facets.blueprint.private_content import USER_TYPE

GROUP_TYPE = "userGroup"


class OfType(models.Manager[Any]):
    """Limits all queries on these models to elements of their type."""

    def __init__(self, key: str = "") -> None:
        super().__init__()
        self.key = key

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().filter(type__key=self.key).select_related("newest")


class User(Element):
    objects: ClassVar[models.Manager[Any]] = OfType(USER_TYPE)
    shown_name = ""
    """Name in the language of the reader; pages set it."""

    class Meta:
        proxy = True
        verbose_name = _("user")
        verbose_name_plural = _("users")

    def __str__(self) -> str:
        return self.shown_name or str(self.id)


class UserGroup(Element):
    objects: ClassVar[models.Manager[Any]] = OfType(GROUP_TYPE)
    shown_name = ""

    class Meta:
        proxy = True
        verbose_name = _("group")
        verbose_name_plural = _("groups")

    def __str__(self) -> str:
        return self.shown_name or str(self.id)
