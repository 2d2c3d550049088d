"""People who sign in to the back office, and the storages they may enter."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models

from storage.models.storages import Storage
from storage.roles import Role


class StaffAccount(AbstractUser):
    """An account of the back office. A superuser administers the site and every storage."""

    storages = models.ManyToManyField(Storage, through="StorageMembership", related_name="staff")


class StorageMembership(models.Model):
    """Lets a staff account work in one storage with certain roles."""

    account = models.ForeignKey(StaffAccount, on_delete=models.CASCADE, related_name="memberships")
    storage = models.ForeignKey(Storage, on_delete=models.CASCADE, related_name="memberships")
    roles = ArrayField(models.CharField(max_length=20, choices=[(role.value, role.value) for role in Role]))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "storage"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.account} in {self.storage}"
