"""Add, change and remove data cultures of a storage (D483). Commands and the back office call the same functions."""

from __future__ import annotations

from django.utils.translation import gettext as _

from elements.cultures.clearing import clear_culture
from elements.cultures.uses import CultureUses, find_uses
from repository_site.core.database.statements import fetch
from repository_site.core.problems import Conflict, Invalid
from storage.events.recording import record_configuration
from storage.localisation.cultures import CultureProblem, CultureSet, culture_set
from storage.models import Culture, Storage
from storage.tenancy.scope import tenant_scope

# Writers hold the row with FOR SHARE until they commit (`settling`), so none of them uses the former cultures.
_HOLD = "SELECT configuration_revision FROM storage_storagerevision WHERE storage_id = %s FOR UPDATE"
_RENEW = """UPDATE storage_storagerevision SET configuration_revision = repository_new_revision()
    WHERE storage_id = %s RETURNING configuration_revision"""


def add_culture(storage: Storage, lcid: int, *, is_mandatory: bool = False) -> None:
    with tenant_scope(storage):
        cultures = _hold(storage)
        if lcid in cultures.data:
            raise Conflict(_("The storage already has the culture %(id)s.") % {"id": lcid})
        mandatory = (*cultures.mandatory, lcid) if is_mandatory else cultures.mandatory
        _check((*cultures.data, lcid), cultures.default, mandatory)
        last = Culture.objects.filter(storage=storage).order_by("position").last()
        position = last.position + 1 if last else 0
        Culture.objects.create(storage=storage, lcid=lcid, position=position, is_mandatory=is_mandatory)
        _renew(storage, lcid)


def set_mandatory(storage: Storage, lcid: int, *, is_mandatory: bool) -> None:
    """Make a culture mandatory or optional. Validation rules require values in mandatory ones (D22)."""
    with tenant_scope(storage):
        _require(lcid, _hold(storage))
        Culture.objects.filter(storage=storage, lcid=lcid).update(is_mandatory=is_mandatory)
        _renew(storage, lcid)


def remove_culture(storage: Storage, lcid: int, *, with_values: bool = False) -> CultureUses:
    """Remove a culture that nothing uses, or with its values. A background job removes the values: until it has
    finished, responses can still contain some of them."""
    with tenant_scope(storage):
        # Writers wait while the uses are counted, unless the result does not decide.
        uses = find_uses(lcid) if with_values else None
        cultures = _hold(storage)
        uses = uses or find_uses(lcid)
        _require(lcid, cultures)
        if lcid == cultures.default:
            raise Conflict(_("%(id)s is the default culture and cannot be removed.") % {"id": lcid})
        if uses and not with_values:
            raise Conflict(
                _("The culture %(id)s is in use: %(uses)s. Remove it with its values.")
                % {"id": lcid, "uses": ", ".join(uses.texts())}
            )
        Culture.objects.filter(storage=storage, lcid=lcid).delete()
        _renew(storage, lcid)
        clear_culture.enqueue(storage, lcid=lcid)
        return uses


def _hold(storage: Storage) -> CultureSet:
    """Return the cultures, and make writers of content and others who change cultures wait."""
    fetch(_HOLD, [storage.id])
    return storage.culture_set()


def _require(lcid: int, cultures: CultureSet) -> None:
    if lcid not in cultures.data:
        known = ", ".join(map(str, cultures.data))
        raise Invalid(_("The storage has no culture %(id)s; it has %(known)s.") % {"id": lcid, "known": known})


def _check(data: tuple[int, ...], default: int, mandatory: tuple[int, ...]) -> None:
    try:
        culture_set(data, default, mandatory)
    except CultureProblem as problem:
        raise Invalid(str(problem)) from None


def _renew(storage: Storage, lcid: int) -> None:
    """Let every process compile the configuration again, and tell clients. The table of cultures has no trigger for
    that, because it is copied to all nodes of a distributed database (D251)."""
    storage.configuration_revision = fetch(_RENEW, [storage.id])[0][0]
    record_configuration(storage, [f"cultures.{lcid}"])
