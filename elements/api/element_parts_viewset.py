"""Attributes and related contexts of an element, operations 6, 7 and 8, and the elements that refer to it."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpResponse
from rest_framework.request import Request

from elements import derived
from elements.api import query_parameters
from elements.api.element_serializers import AttributeMapSerializer, ReferrersSerializer, RelatedMapSerializer
from elements.api.query import CONTEXT
from elements.api.reading_viewset import ElementReadingViewSet, attribute_names, view_names
from elements.filters.binding import Vocabulary
from elements.reading.assembly.assembler import Assembler, Wire, add_part
from elements.reading.assembly.projection import ATTRIBUTES, RELATED, Wanted
from elements.reading.bounds import BoundedWriter
from elements.reading.lists.filtering import view_vocabulary, vocabulary_of
from elements.reading.referrers import DiagramOfReferrer, Referrer, context_names, reading_referrers
from elements.reading.related import RelatedAssembler
from elements.reading.rows import VersionRow
from elements.related_contexts import accepts
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView
from repository_site.core.database.statements import read
from repository_site.core.problems import NotFound
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import counted
from repository_site.core.rest.versioning import ApiVersions
from storage.api.conditional_requests import Prepared


class ElementPartsViewSet(ElementReadingViewSet):
    @Operation(
        "listAttributes",
        tag="elements",
        summary="List the attributes of an element",
        versions=ApiVersions.up_to("1.0"),
        parameters=query_parameters.ATTRIBUTES,
        is_conditional=True,
        responses=AttributeMapSerializer,
    )
    def list_attributes(self, request: Request, **names: str) -> Prepared:
        """Return the attributes that the view shows, or those in `$select`, with their values by culture id.

        If the element does not match `$filter`, the list is empty.
        """
        return self._attributes(request, names)

    @Operation(
        "getAttribute",
        tag="elements",
        summary="Get an attribute of an element",
        versions=ApiVersions.up_to("1.0"),
        parameters=query_parameters.ONE_ATTRIBUTE,
        is_conditional=True,
        responses=AttributeMapSerializer,
    )
    def get_attribute(self, request: Request, **names: str) -> Prepared:
        """Return one attribute of the element, even if the view does not show it."""
        return self._attributes(request, names, names["attributeName"])

    def _attributes(self, request: Request, names: dict[str, str], only: str | None = None) -> Prepared:
        self.show_own(names["elementId"])
        view = self.view_of(names)
        query = self.query(request)
        select = query.select(view_names(self.configuration, view))
        condition = self.condition(query, view_vocabulary(self.configuration, view))
        query.finish()
        row = self.element_in(view, names["elementId"])
        if only is not None:
            self._require_attribute(row, only)
            select = frozenset({only})
        wanted = Wanted(frozenset({ATTRIBUTES}), select)

        def list_attributes() -> HttpResponse:
            rows = [row] if self.matches(row, condition) else []
            found = Assembler(self.reader, view, wanted).elements(rows)
            return self.answer_bounded(counted("values", found[0].get(ATTRIBUTES, {}) if found else {}))

        return Prepared(list_attributes)

    def _require_attribute(self, row: VersionRow, name: str) -> None:
        type = self.reader.types[row.type]
        if not any(each.key == name and each.attribute for each in type.properties):
            raise NotFound(f"The type {type.key} has no attribute {name}.")

    @Operation(
        "listRelated",
        tag="elements",
        summary="List the related contexts of an element",
        versions=ApiVersions.up_to("1.0"),
        parameters=query_parameters.RELATED,
        is_conditional=True,
        responses=RelatedMapSerializer,
    )
    def list_related(self, request: Request, **names: str) -> Prepared:
        """Return the related contexts that the view shows, or those in `$select`, with their references.

        `$filter` applies to the elements that the references point to.
        """
        return self._related(request, names)

    @Operation(
        "getRelated",
        tag="elements",
        summary="Get a related context of an element",
        versions=ApiVersions.up_to("1.0"),
        parameters=query_parameters.ONE_RELATED,
        is_conditional=True,
        responses=RelatedMapSerializer,
    )
    def get_related(self, request: Request, **names: str) -> Prepared:
        """Return the references of one related context.

        The innermost references of an expanded reference include attributes. `$filter` applies to the elements that the
        references point to.
        """
        return self._related(request, names, names["relatedId"])

    def _related(self, request: Request, names: dict[str, str], only: str | None = None) -> Prepared:
        view = self.view_of(names)
        query = self.query(request)
        allowed = view_names(self.configuration, view)
        select = query.select(allowed) if only is None else frozenset({only})
        expand, fields = query.expand_fields(allowed, (), attribute_names(self.reader.nested))
        wanted = Wanted(frozenset({RELATED}), select, expand, fields=fields)
        condition = self.condition(query, self._target_vocabulary(view, only))
        query.finish()
        row = self.element_in(view, names["elementId"])
        type = self.reader.types[row.type]
        if only is not None and not any(each.key == only and each.related for each in type.properties):
            raise NotFound(f"The type {type.key} has no related context {only}.")

        def list_contexts() -> HttpResponse:
            assembler = RelatedAssembler(self.reader, view, wanted)
            found = assembler.contexts(row, condition, with_attributes=only is not None)
            return self.answer_bounded(counted("values", found))

        return Prepared(list_contexts)

    def _target_vocabulary(self, view: CompiledView, only: str | None) -> Vocabulary:
        key = ("target vocabulary", view.facet.name, view.view.name)
        if only is None:
            return self.configuration.keep(key, lambda: vocabulary_of(self.configuration, self._targets(view, None)))
        return vocabulary_of(self.configuration, self._targets(view, only))

    def _targets(self, view: CompiledView, only: str | None) -> Iterable[ElementType]:
        """Return the types that the related contexts can point to; a release history points to its own type."""
        contexts = {
            (shown.type.key, each.key, each.related)
            for shown in view.types.values()
            for each in shown.type.properties
            if each.related and only in (None, each.key)
        }
        return [
            type
            for type in self.configuration.types.values()
            if any(
                type.key == owner if context == derived.RELEASE_HISTORY else accepts(context, related, type)
                for owner, context, related in contexts
            )
        ]

    @Operation(
        "listReferrers",
        tag="elements",
        summary="List the elements that refer to an element",
        versions=ApiVersions.up_to("1.0"),
        parameters=query_parameters.REFERRERS,
        is_conditional=True,
        responses=ReferrersSerializer,
    )
    def list_referrers(self, request: Request, **names: str) -> Prepared:
        """Return the elements that refer to this one in a related context, each with its name and its diagrams.

        An element that refers in several contexts has an entry for each. Entries are ordered by context, then by the
        name of the diagram's element and the order of shapes in the diagram; elements without a diagram come last.
        Viewers and anonymous readers get published versions only. An element that exists only in diagrams counts if
        the caller sees one of these diagrams.
        """
        self.show_own(names["elementId"])
        view = self.view_of(names)
        query = self.query(request)
        contexts = query.names_among(CONTEXT, context_names(self.reader.nested), "a related context")
        paging = query.page()
        query.finish()
        row = self.element_in(view, names["elementId"])

        def list_referrers() -> HttpResponse:
            write, offset = BoundedWriter(), (paging.page - 1) * paging.size
            found = read(reading_referrers(self.reader, row, contexts, limit=paging.size, offset=offset))
            payload = counted("values", list(map(write, map(self._referrer, found.page))))
            payload |= {"contexts": found.counts, "isComplete": found.is_complete}
            response = self.answer_bounded(payload)
            self.add_page_headers(response, paging.page, paging.size, found.total(contexts))
            return response

        return Prepared(list_referrers)

    def _referrer(self, referrer: Referrer) -> Wire:
        found = self.reader.named_reference(referrer.identity, referrer.names)
        found["context"] = referrer.context
        add_part(found, "diagrams", [self._diagram(each) for each in referrer.diagrams])
        return found

    def _diagram(self, diagram: DiagramOfReferrer) -> Wire:
        return {"properties": {"shapeId": diagram.shape}, **self.reader.named_reference(diagram.owner, diagram.names)}
