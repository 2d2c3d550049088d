"""Users and groups of a storage, as people administer them. Every change is an update as in operation 5 (D15)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from elements.models import Element, ElementVersion, Reference
from elements.models.people import GROUP_TYPE
from elements.reading.assembly.response_addresses import Addresses
from elements.reading.names import language_culture, read_names
from elements.reading.rows import VersionRow
from elements.writing.findings import Findings
from elements.writing.inputs import ElementInput, ReferenceInput
from elements.writing.stored import lock_elements
from elements.writing.updating import update_elements
from elements.writing.writers import Writer
from facets.blueprint.private_content import INACTIVE, ROLE_ATTRIBUTES, USER_TYPE
from facets.configuration import CompiledView, Configuration
from repository_site.core.problems import NotFound, PreconditionFailed, Warned
from storage.extension import UserDirectory
from storage.localisation.cultures import INVARIANT_CULTURE
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import reading_scope

GROUPS = "userGroups"
INVARIANT = str(INVARIANT_CULTURE)
# First words of problems, by which forms find the field.
USER_PLACE, GROUP_PLACE = "user", "group"
Attributes = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class UserDraft:
    """Requested state of a user. Role attributes and groups that the type does not have are left out."""

    id: UUID | None
    attributes: Attributes
    roles: Collection[Role]
    is_inactive: bool
    groups: Sequence[UUID]
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class GroupDraft:
    id: UUID | None
    attributes: Attributes
    members: Collection[UUID] = field(default_factory=tuple)
    revision: int | None = None


def save_user(writer: Writer, draft: UserDraft, *, is_confirmed: bool = False) -> UUID:
    """Save a user. Raise `Warned` until confirmed if the callers would take away their own access."""
    is_own = draft.id is not None and draft.id == writer.caller.element_id
    if is_own and not is_confirmed and (draft.is_inactive or Role.ADMINISTRATOR not in draft.roles):
        raise Warned(_("This is your own user account: you would no longer administer this storage."))
    known = _properties(writer.configuration, USER_TYPE)
    given = {name: role in draft.roles for name, role in ROLE_ATTRIBUTES.items()} | {INACTIVE: draft.is_inactive}
    stored = _stored(draft.id)
    # An attribute that was never set and is false stays unset.
    told = {name: {INVARIANT: value} for name, value in given.items() if name in known and (value or name in stored)}
    element = ElementInput(
        USER_PLACE,
        id=str(draft.id) if draft.id else None,
        type=USER_TYPE,
        attributes=_differing({**_plain(draft.attributes), **told}, stored),
    )
    groups = groups_of([draft.id]).get(draft.id, []) if draft.id else []
    if GROUPS in known and set(groups) != set(draft.groups):
        # Groups that stay keep their order, which forms do not know.
        kept = [each for each in groups if each in draft.groups]
        element.related[GROUPS] = _references([*kept, *(each for each in draft.groups if each not in kept)])
    return _save(writer, element, draft.revision)


def save_group(writer: Writer, draft: GroupDraft) -> UUID:
    """Save a group, and each user who joins or leaves it."""
    attributes = _differing(_plain(draft.attributes), _stored(draft.id))
    own_id = str(draft.id) if draft.id else None
    element = ElementInput(GROUP_PLACE, id=own_id, type=GROUP_TYPE, attributes=attributes)
    group = _save(writer, element, draft.revision)
    if GROUPS not in _properties(writer.configuration, USER_TYPE):
        return group
    moves = _moves(group, draft.members)
    if moves:
        update_elements(writer, view_of(writer.configuration, USER_TYPE), moves, Findings(), lambda rows: None)
    return group


def _moves(group: UUID, wanted: Collection[UUID]) -> list[ElementInput]:
    """Return the changes of memberships. Locks these users, so that concurrent changes of their groups are not lost."""
    changed = {user for user, _ in members_of([group])} ^ set(wanted)
    stored = lock_elements({str(user) for user in changed}, ())
    found = []
    for user in sorted(map(str, changed)):
        known = stored.elements.get(user)
        now = [UUID(each) for each in stored.references.get(known.newest, {}).get(GROUPS, ())] if known else []
        then = [each for each in now if each != group] + ([group] if UUID(user) in wanted else [])
        found.append(ElementInput(GROUP_PLACE, id=user, type=USER_TYPE, related={GROUPS: _references(then)}))
    return found


def _save(writer: Writer, element: ElementInput, revision: int | None) -> UUID:
    def check(rows: list[VersionRow | None]) -> None:
        if revision is not None and any(row is not None and row.revision != revision for row in rows):
            text = _("Someone else has changed this in the meantime. Saving again replaces their change.")
            raise PreconditionFailed(text)

    if element.id and not element.attributes and not element.related:
        return UUID(element.id)
    view = view_of(writer.configuration, str(element.type))
    version = update_elements(writer, view, [element], Findings(), check)[0]
    return ElementVersion.objects.values_list("element_id", flat=True).get(id=version)


def view_of(configuration: Configuration, type: str) -> CompiledView:
    if type not in configuration.types:
        raise NotFound(_("This storage has no type %(key)s.") % {"key": type})
    return Addresses(configuration, "").detail_view(configuration.types[type])


def groups_of(users: Collection[UUID]) -> dict[UUID, list[UUID]]:
    rows = _current().filter(version__element__in=users).order_by("version", "position")
    found: dict[UUID, list[UUID]] = {}
    for user, group in rows.values_list("version__element_id", "target_id"):
        found.setdefault(user, []).append(group)
    return found


def members_of(groups: Collection[UUID]) -> list[tuple[UUID, UUID]]:
    """Return pairs of user and group, by the name of the user."""
    rows = _current().filter(target__in=groups, version__element__type__key=USER_TYPE)
    return list(rows.order_by("version__sort_name", "version").values_list("version__element_id", "target_id"))


def _current() -> QuerySet[Reference]:
    return Reference.objects.filter(context=GROUPS, version__element__newest=F("version"))


def _stored(user: UUID | None) -> Mapping[str, Any]:
    if user is None:
        return {}
    return Element.objects.filter(id=user).values_list("newest__attributes", flat=True).first() or {}


def _properties(configuration: Configuration, type: str) -> set[str]:
    found = configuration.types.get(type)
    return {each.key for each in found.properties} if found else set()


def _plain(attributes: Attributes) -> dict[str, dict[str, Any]]:
    """Replace empty texts by null, which removes a value."""
    return {name: {lcid: value or None for lcid, value in values.items()} for name, values in attributes.items()}


def _differing(given: Attributes, stored: Attributes) -> dict[str, dict[str, Any]]:
    found = {
        name: {lcid: value for lcid, value in values.items() if stored.get(name, {}).get(lcid) != value}
        for name, values in given.items()
    }
    return {name: values for name, values in found.items() if values}


def _references(elements: Iterable[UUID]) -> list[ReferenceInput]:
    return [ReferenceInput(GROUPS, id=str(each)) for each in elements]


def _user_names(storage: Storage, users: Collection[UUID]) -> dict[UUID, str]:
    with reading_scope(storage):
        cultures = storage.culture_set()
        return dict(read_names(users, (), language_culture(get_language(), cultures), cultures).elements)


def _choices_address() -> str:
    return f"{reverse('admin:elements_choices')}?types={USER_TYPE}"


user_directory = UserDirectory(_user_names, _choices_address)
