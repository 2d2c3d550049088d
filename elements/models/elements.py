from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from facets.blueprint.cycles import OPEN, Category
from storage.models.past import DatedModel, past_rows_of
from storage.models.tenant import tenant_link

# A function of the database. A counter would repeat its numbers after a restore, and a stale entity tag would match.
NEW_REVISION = models.Func(function="repository_new_revision", output_field=models.BigIntegerField())


class Element(DatedModel):
    """The part of an element that all versions share: type, place in the tree, and the version that each audience sees.

    Callers who may see drafts read `newest`, viewers read `published` (D6), so either audience reads with one join. An
    element without versions has one row in ElementVersion, with the element's own id, and both point to it.
    """

    storage_through = "type"
    concerns = ("id",)

    creation_id = models.UUIDField(help_text="The id of the first copy (D11).")
    type = tenant_link("facets.ElementType", "+")
    parent = tenant_link("elements.Element", "children", null=True)
    position = models.IntegerField(default=0, help_text="Position among the children of the parent (D480).")
    rank = models.TextField(
        default="", db_default="", db_collation="C", help_text="Order among children with the same position (D480)."
    )
    newest = tenant_link("elements.ElementVersion", "+", null=True)
    published = tenant_link("elements.ElementVersion", "+", null=True)

    class Meta:
        verbose_name = _("element")
        verbose_name_plural = _("elements")
        indexes = [
            models.Index(fields=["storage_id", "type", "id"], name="element_by_type"),
            models.Index(fields=["storage_id", "parent", "position", "rank", "id"], name="element_by_place"),
            models.Index(fields=["storage_id", "newest"], name="element_by_newest"),
            models.Index(fields=["storage_id", "published"], name="element_by_published"),
            models.Index(fields=["storage_id", "creation_id"], name="element_by_creation"),
            # A comparison of two times looks for new elements, of which the history of an import has none.
            models.Index(fields=["storage_id", "since"], name="element_by_time"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class ElementVersion(DatedModel):
    """One version. Attributes are in wire form, `{name: {culture: value}}`, without derived ones."""

    storage_through = "element"
    concerns = ("element_id",)

    element = tenant_link("elements.Element", "versions")
    state = models.CharField(max_length=100, blank=True)
    category = models.CharField(
        max_length=20,
        choices=[(each.value, each.value) for each in Category],
        help_text="Phase of the state in its release cycle, stored here for the constraints of the database.",
    )
    major = models.PositiveIntegerField(null=True)
    minor = models.PositiveIntegerField(null=True)
    stereotype = models.CharField(max_length=200, blank=True)
    attributes = models.JSONField(default=dict)
    sort_name = models.TextField(db_collation="C", help_text="Name in the default culture, folded, for ordering.")
    valid_from = models.DateTimeField(null=True)
    valid_until = models.DateTimeField(null=True)
    created_on = models.DateTimeField()
    created_by = tenant_link("elements.Element", "+", null=True)
    changed_on = models.DateTimeField()
    changed_by = tenant_link("elements.Element", "+", null=True)
    released_on = models.DateTimeField(null=True)
    released_by = tenant_link("elements.Element", "+", null=True)
    revision = models.PositiveBigIntegerField(
        db_default=NEW_REVISION, help_text="Random number that every change replaces; part of the entity tag."
    )

    class Meta:
        constraints = [
            # Also serves reading the versions of an element in order.
            models.UniqueConstraint(fields=["storage_id", "element", "major", "minor"], name="version_number_once"),
            models.UniqueConstraint(
                fields=["storage_id", "element"],
                condition=models.Q(category__in=sorted(each.value for each in OPEN)),
                name="one_open_version",
            ),
            models.UniqueConstraint(
                fields=["storage_id", "element"],
                condition=models.Q(category=Category.PUBLISHED.value),
                name="one_published_version",
            ),
        ]
        indexes = [
            models.Index(fields=["storage_id", "sort_name", "id"], name="version_by_name"),
            # Clients ask for changes since their last request, and for spans of the other times.
            models.Index(fields=["storage_id", "changed_on"], name="version_by_change"),
            models.Index(fields=["storage_id", "created_on"], name="version_by_creation"),
            models.Index(fields=["storage_id", "released_on"], name="version_by_release"),
            models.Index(fields=["storage_id", "valid_from"], name="version_by_start"),
            models.Index(fields=["storage_id", "valid_until"], name="version_by_end"),
            # The scheduled jobs look for versions whose time has come.
            models.Index(
                fields=["storage_id", "valid_until"],
                condition=models.Q(category=Category.PUBLISHED.value),
                name="published_by_end",
            ),
            # Deleting an element looks for versions that name it as a caller.
            models.Index(fields=["storage_id", "created_by"], name="version_by_creator"),
            models.Index(fields=["storage_id", "changed_by"], name="version_by_changer"),
            models.Index(fields=["storage_id", "released_by"], name="version_by_releaser"),
        ]

    def __str__(self) -> str:
        return str(self.id)


PastElement = past_rows_of(
    Element,
    past_element_by_id=("row_id",),
    past_element_by_type=("type_id", "row_id"),
    past_element_by_place=("parent_id", "position", "rank", "row_id"),
    past_element_by_newest=("newest_id",),
    past_element_by_published=("published_id",),
    past_element_by_time=(),
)
PastElementVersion = past_rows_of(
    ElementVersion,
    past_version_by_id=("row_id",),
    past_version_by_element=("element_id",),
    past_version_by_name=("sort_name", "row_id"),
)
