"""Decisions about related contexts: which elements a context may refer to, and which it creates (D15)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from django.utils.translation import gettext as _

from elements.related_contexts import accepts
from elements.sizes.limits import CONTEXT, REFERENCES
from elements.writing.deciding.lookups import named_target, type_called
from elements.writing.findings import Findings, conflict, invalid
from elements.writing.inputs import ReferenceInput
from elements.writing.planned_changes import PlannedChange
from elements.writing.stored import ReferenceTarget
from facets.blueprint.definitions import ElementType, Related
from facets.configuration import Configuration
from repository_site.core.wording import listed, printable

# Plans the element that a reference describes, and returns its id.
TargetMaker = Callable[[ReferenceInput, ElementType], str]


class ReferenceRules:
    def __init__(
        self,
        configuration: Configuration,
        targets: Mapping[str, ReferenceTarget],
        make: TargetMaker,
        findings: Findings,
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        """`hidden` are targets of stored references that the caller does not see."""
        self.hidden = hidden
        self.configuration = configuration
        self.targets = targets
        self.make = make
        self.findings = findings

    def apply(
        self, change: PlannedChange, given: Mapping[str, Sequence[ReferenceInput]], stored: Mapping[str, Sequence[str]]
    ) -> None:
        """Replace the targets of each given context; other contexts stay."""
        known = {each.key: each.related for each in change.type.properties if each.related}
        for name, references in given.items():
            place = f"{change.place}: {printable(name, 100)}"
            related = known.get(name)
            if related is None:
                text = _("the type %(type)s has no such related context") % {"type": change.type.key}
                self.findings.note(invalid(place, text + self.findings.hint(name, known)))
            else:
                self._replace(change, name, related, references, list(stored.get(name, ())), place)
        before, after = (sum(map(len, each.values())) for each in (stored, {**stored, **change.related}))
        if problem := REFERENCES.problem(after, before):
            self.findings.note(invalid(f"{change.place}: related", problem))

    def _replace(
        self,
        change: PlannedChange,
        name: str,
        related: Related,
        references: Sequence[ReferenceInput],
        old: list[str],
        place: str,
    ) -> None:
        kept = [each for each in old if each in self.hidden] if self.hidden else []
        if [each.id for each in references] == [each for each in old if each not in self.hidden]:
            # Stored references may stay even if the configuration no longer allows them; their types must be right.
            for each in references:
                self.findings.attempt(named_target, self.configuration, each, self.targets)
            return
        if len(references) > related.max_occurrence:
            words = {"count": len(references), "most": related.max_occurrence}
            self.findings.note(invalid(place, _("%(count)d references; at most %(most)d are allowed") % words))
        elif problem := CONTEXT.problem(len(references), len(old)):
            self.findings.note(invalid(place, problem))
        found = [self.findings.attempt(self._target, each, name, related) for each in references]
        wanted = [each for each in found if each is not None] + kept
        if kept and len(wanted) > related.max_occurrence:
            text = _("has references that you cannot see; at most %(most)d are allowed")
            self.findings.note(conflict(place, text % {"most": related.max_occurrence}))
        if len(wanted) == len(references) + len(kept) and wanted != old:
            if related.read_only:
                self.findings.note(invalid(place, _("is read-only")))
            change.related[name] = wanted
            change.changed.add(name)
            change.note("related", name, old, wanted)

    def _target(self, reference: ReferenceInput, context: str, related: Related) -> str:
        if not reference.names_something:
            return self._new_target(reference, context, related)
        target = named_target(self.configuration, reference, self.targets)
        type = self.configuration.types_by_id[target.type]
        if not accepts(context, related, type):
            words = {"id": target.element, "type": type.key, "expected": _expected(related)}
            raise invalid(reference.place, _("%(id)s has the type %(type)s; expected %(expected)s") % words)
        return target.element

    def _new_target(self, reference: ReferenceInput, context: str, related: Related) -> str:
        if not related.can_add_new:
            raise invalid(
                reference.place, _("expected the id of an existing element; this context cannot create elements")
            )
        type = type_called(self.configuration, reference.type)
        if type is None or not accepts(context, related, type):
            text = _("expected an id, or the type of a new element: %(expected)s")
            raise invalid(reference.place, text % {"expected": _expected(related)})
        if reference.attributes is None:
            raise invalid(
                reference.place, _('a new element needs attributes, such as {"name": {"1033": "Order parts"}}')
            )
        return self.make(reference, type)


def _expected(related: Related) -> str:
    if related.types:
        return listed(related.types, _("or"))
    return _("a type of the facet %(facet)s") % {"facet": related.facet}
