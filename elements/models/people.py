"""The users and groups among the elements, for the back office: the same rows under names of their own."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from elements.models.elements import Element

USER_TYPE, GROUP_TYPE = "user", "userGroup"


class OfType(models.Manager[Any]):
    """Whatever is asked of these models can find elements of their type only."""

    def __init__(self, key: str = "") -> None:
        super().__init__()
        self.key = key

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().filter(type__key=self.key).select_related("newest")


class User(Element):
    objects: ClassVar[models.Manager[Any]] = OfType(USER_TYPE)
    shown_name = ""
    """In the language of who looks; set by pages."""

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
