"""Recent work in a generated storage: new versions of some processes, a part of them released, the others waiting."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from django.utils import timezone

from elements.reading.rows import read_references
from release.demo.story import RELEASE, Act, Do, accepted, revised
from release.demo.telling import StoryTeller
from repository_site.core.database.statements import fetch
from storage.access.callers import Caller, CallerKind
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope

# One of so many processes gets a new version, up to a number that takes a few seconds.
SHARE, MOST = 50, 100
APPROVERS = 5
GRANTING = UUID(int=0)
ADMINISTRATOR = Caller(CallerKind.STAFF, "sample_storage", frozenset(Role))
# Days over which releases and submissions are spread. Some tasks are overdue after that time.
RELEASES, SUBMISSIONS = 60, 16
PROCESSES = """SELECT e.id::text, e.newest_id::text FROM elements_element e
    JOIN facets_elementtype t ON t.id = e.type_id WHERE t.key = 'subProcess' ORDER BY e.id LIMIT %s"""
USERS = """SELECT e.id::text FROM elements_element e JOIN facets_elementtype t ON t.id = e.type_id
    WHERE t.key = 'user' ORDER BY e.id LIMIT %s"""


def work_in_sample(storage: Storage, count: int) -> int:
    """Perform the work of a storage with so many processes, and return the number of new versions."""
    number = min(count // SHARE, MOST)
    with tenant_scope(storage):
        teller = StoryTeller(storage, timezone.now(), {GRANTING: ADMINISTRATOR})
        for act in sorted(_acts(number), key=lambda act: -act.days) if number else ():
            teller.perform(act)
    return number


def _acts(number: int) -> Iterator[Act]:
    approvers = [row[0] for row in fetch(USERS, [APPROVERS])]
    yield from (Act(each, RELEASES + 10, str(GRANTING), Do.GRANT) for each in approvers)
    processes = fetch(PROCESSES, [number])
    related = read_references([version for _, version in processes], {"owner"})
    for place, (element, version) in enumerate(processes):
        owner = related[version]["owner"][0]
        is_released = place % 3 > 0
        days = (RELEASES if is_released else SUBMISSIONS) * place / number + 0.1
        english, german = f"Change {place + 1} of the sample.", f"Änderung {place + 1} des Beispiels."
        yield from revised(element, owner, days + 4.35 * is_released, RELEASE, english, german)
        if is_released:
            # The owner has submitted it, so somebody else releases it (four-eyes principle).
            yield from accepted(element, next(each for each in approvers if each != owner), days, "Approved.")
