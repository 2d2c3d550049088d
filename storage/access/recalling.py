"""Callers whose work continues in a background job, with the roles that they have at that time."""

from __future__ import annotations

from storage.access import staff, tokens
from storage.access.callers import Caller
from storage.models import StaffAccount, Storage


def recall_caller(storage: Storage, label: str) -> Caller | None:
    """Return the caller that a label names; None if the caller has lost access meanwhile."""
    if label.startswith(tokens.LABEL):
        return tokens.token_caller(storage, label)
    if label.startswith(staff.LABEL):
        account = StaffAccount.objects.filter(pk=label.removeprefix(staff.LABEL)).first()
        return staff.staff_caller(account, storage)
    return None
