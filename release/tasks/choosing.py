"""Which tasks wait for a caller, and which the caller has requested."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from elements.permissions import Permission, granted_to
from elements.users import groups_of
from release.models import Task
from release.tasks.approvers import administers, represented_by
from storage.access.callers import Caller


def waiting_for(caller: Caller) -> QuerySet[Task]:
    """Return the tasks that the caller can decide: as assignee, member of a group, deputy or approver."""
    element = caller.element_id
    own = [element, *groups_of(element), *represented_by(element)]
    mine = Q(assignee_id__in=[each for each in own if each is not None])
    if Permission.APPROVE in granted_to(caller):
        mine |= Q(assignee_id=None)
    found = Task.objects.filter(mine)
    return found if administers(caller) else found.exclude(requested_by(caller)).exclude(_needs_another(caller))


def _needs_another(caller: Caller) -> Q:
    """Select the open tasks of rounds in which the caller has accepted: the next approval is somebody else's."""
    accepted = Task.objects.filter(
        version_id=OuterRef("version_id"), round_id=OuterRef("round_id"), state=Task.State.ACCEPTED
    )
    return Q(Exists(accepted.filter(_is_person("decider", caller))), state=Task.State.OPEN)


def requested_by(caller: Caller) -> Q:
    return _is_person("requester", caller)


def _is_person(role: str, caller: Caller) -> Q:
    """Select by the user, or by the label of an account that had no user at that time, as the decisions do."""
    unlinked = Q(**{f"{role}_id": None, f"{role}_label": caller.label})
    return unlinked if caller.element_id is None else unlinked | Q(**{f"{role}_id": caller.element_id})
