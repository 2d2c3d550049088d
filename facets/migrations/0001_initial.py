"""Tables of the type configuration. Each change of a row renews the configuration revision of its storage."""

from uuid import uuid4

from django.core import validators
from django.db import migrations, models
from django.db.models import deletion
from django.db.models.functions import Cast, Lower

from facets.models.base import Texts
from storage.tenancy.migration_operations import BumpConfigurationRevision, IsolateTenantTable


def storage_id():
    """Return the column that the database fills from the tenant scope."""
    scope = models.Func(models.Value("repository.storage"), function="current_setting", output_field=models.TextField())
    return models.UUIDField(db_default=Cast(scope, output_field=models.UUIDField()), editable=False)


def link(to, related_name, **options):
    """Return a foreign key inside the storage; the isolation of the table adds its constraint."""
    return models.ForeignKey(
        to, on_delete=deletion.DO_NOTHING, db_constraint=False, db_index=False, related_name=related_name, **options
    )


class Migration(migrations.Migration):
    initial = True
    dependencies = [("storage", "0001_initial")]
    operations = [
        migrations.CreateModel(
            name="Facet",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("name", models.CharField(max_length=100)),
                ("display_names", Texts(blank=True, default=dict)),
                ("type_name", models.CharField(help_text="facetTypeName of ElementInfo.", max_length=100)),
            ],
            options={
                "verbose_name": "facet",
                "verbose_name_plural": "facets",
                "ordering": ["position", "id"],
                "constraints": [models.UniqueConstraint(models.F("storage_id"), Lower("name"), name="facet_name_once")],
            },
        ),
        IsolateTenantTable("facet"),
        BumpConfigurationRevision("facet"),
        migrations.CreateModel(
            name="ReleaseCycle",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("key", models.CharField(max_length=100)),
                ("display_names", Texts(blank=True, default=dict)),
                (
                    "takes_effect",
                    models.CharField(
                        blank=True,
                        help_text="State that a version in the first published state enters on its validFrom.",
                        max_length=100,
                    ),
                ),
            ],
            options={
                "verbose_name": "release cycle",
                "verbose_name_plural": "release cycles",
                "ordering": ["position", "id"],
                "constraints": [models.UniqueConstraint(models.F("storage_id"), Lower("key"), name="cycle_key_once")],
            },
        ),
        IsolateTenantTable("releasecycle"),
        BumpConfigurationRevision("releasecycle"),
        migrations.CreateModel(
            name="CycleState",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("cycle", link("facets.releasecycle", "states")),
                ("key", models.CharField(max_length=100)),
                ("display_names", Texts(blank=True, default=dict)),
                (
                    "category",
                    models.CharField(
                        choices=[
                            ("draft", "draft"),
                            ("review", "review"),
                            ("published", "published"),
                            ("retired", "retired"),
                        ],
                        max_length=20,
                    ),
                ),
            ],
            options={
                "verbose_name": "state",
                "verbose_name_plural": "states",
                "ordering": ["position", "id"],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("storage_id"), models.F("cycle"), Lower("key"), name="state_key_once"
                    )
                ],
            },
        ),
        IsolateTenantTable("cyclestate"),
        BumpConfigurationRevision("cyclestate"),
        migrations.CreateModel(
            name="Transition",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("cycle", link("facets.releasecycle", "transitions")),
                ("key", models.CharField(help_text="The transitionId of the API.", max_length=100)),
                ("display_names", Texts(blank=True, default=dict)),
                ("source", link("facets.cyclestate", "+")),
                ("target", link("facets.cyclestate", "+")),
                (
                    "task",
                    models.CharField(
                        blank=True,
                        help_text="Type of the task that must be accepted before the state changes.",
                        max_length=100,
                    ),
                ),
                (
                    "ends_version",
                    models.BooleanField(
                        default=False,
                        help_text="With a task: accepting the task ends the version on the requested day.",
                    ),
                ),
            ],
            options={
                "verbose_name": "transition",
                "verbose_name_plural": "transitions",
                "ordering": ["position", "id"],
                "indexes": [
                    models.Index(fields=["storage_id", "source"], name="transition_by_source"),
                    models.Index(fields=["storage_id", "target"], name="transition_by_target"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("storage_id"), models.F("cycle"), Lower("key"), name="transition_key_once"
                    )
                ],
            },
        ),
        IsolateTenantTable("transition"),
        BumpConfigurationRevision("transition"),
        migrations.CreateModel(
            name="ElementType",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("facet", link("facets.facet", "types")),
                ("key", models.CharField(max_length=100)),
                ("display_names", Texts(blank=True, default=dict)),
                ("descriptions", Texts(blank=True, default=dict)),
                ("color", models.CharField(max_length=7, validators=[validators.RegexValidator("^#[0-9A-F]{6}$")])),
                ("is_versioned", models.BooleanField(default=False)),
                (
                    "is_architectural",
                    models.BooleanField(default=False, help_text="Only architects can change elements of this type."),
                ),
                ("has_diagram", models.BooleanField(default=False)),
                (
                    "lives_in_diagrams",
                    models.BooleanField(default=False, help_text="Exists only as a shape of a diagram."),
                ),
                ("element_type_name", models.CharField(help_text="elementTypeName of ElementInfo.", max_length=100)),
                ("entity_type_name", models.CharField(help_text="entityTypeName of ElementInfo.", max_length=100)),
                (
                    "static_state",
                    models.CharField(blank=True, help_text="State of a type without versions.", max_length=100),
                ),
                ("release_cycle", link("facets.releasecycle", "types", blank=True, null=True)),
            ],
            options={
                "verbose_name": "type",
                "verbose_name_plural": "types",
                "ordering": ["position", "id"],
                "indexes": [
                    models.Index(fields=["storage_id", "facet"], name="type_by_facet"),
                    models.Index(fields=["storage_id", "release_cycle"], name="type_by_cycle"),
                ],
                "constraints": [
                    models.UniqueConstraint(models.F("storage_id"), Lower("key"), name="type_key_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("is_versioned", True), ("release_cycle__isnull", False)),
                            models.Q(("is_versioned", False), ("release_cycle__isnull", True)),
                            _connector="OR",
                        ),
                        name="versions_have_a_cycle",
                    ),
                ],
            },
        ),
        IsolateTenantTable("elementtype"),
        BumpConfigurationRevision("elementtype"),
        migrations.CreateModel(
            name="FacetView",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("facet", link("facets.facet", "views")),
                ("name", models.CharField(max_length=100)),
                ("key", models.CharField(help_text="facetViewKey of ElementInfo.", max_length=100)),
                ("display_names", Texts(blank=True, default=dict)),
                ("is_hierarchical", models.BooleanField(default=False)),
            ],
            options={
                "verbose_name": "view",
                "verbose_name_plural": "views",
                "ordering": ["position", "id"],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("storage_id"), models.F("facet"), Lower("name"), name="view_name_once"
                    )
                ],
            },
        ),
        IsolateTenantTable("facetview"),
        BumpConfigurationRevision("facetview"),
        migrations.CreateModel(
            name="AllowedParent",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("type", link("facets.elementtype", "parents")),
                ("parent", link("facets.elementtype", "+")),
            ],
            options={
                "ordering": ["position", "id"],
                "indexes": [models.Index(fields=["storage_id", "parent"], name="parent_by_type")],
                "constraints": [models.UniqueConstraint(fields=("storage_id", "type", "parent"), name="parent_once")],
            },
        ),
        IsolateTenantTable("allowedparent"),
        BumpConfigurationRevision("allowedparent"),
        migrations.CreateModel(
            name="InsertableType",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("type", link("facets.elementtype", "insertables")),
                ("inserted", link("facets.elementtype", "+")),
            ],
            options={
                "ordering": ["position", "id"],
                "indexes": [models.Index(fields=["storage_id", "inserted"], name="insertable_by_type")],
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "type", "inserted"), name="insertable_once")
                ],
            },
        ),
        IsolateTenantTable("insertabletype"),
        BumpConfigurationRevision("insertabletype"),
        migrations.CreateModel(
            name="Layout",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("key", models.CharField(max_length=100)),
                ("display_names", Texts(blank=True, default=dict)),
            ],
            options={
                "verbose_name": "layout",
                "verbose_name_plural": "layouts",
                "ordering": ["position", "id"],
                "constraints": [models.UniqueConstraint(fields=("storage_id", "key"), name="layout_key_once")],
            },
        ),
        IsolateTenantTable("layout"),
        BumpConfigurationRevision("layout"),
        migrations.CreateModel(
            name="Property",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("type", link("facets.elementtype", "properties")),
                ("key", models.CharField(max_length=100)),
                ("display_names", Texts(blank=True, default=dict)),
                ("descriptions", Texts(blank=True, default=dict)),
                ("tooltips", Texts(blank=True, default=dict)),
                ("editable_in_released", models.BooleanField(default=False)),
                (
                    "data_type",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("SingleLineText", "SingleLineText"),
                            ("MultiLineText", "MultiLineText"),
                            ("Html", "Html"),
                            ("SelectionValue", "SelectionValue"),
                            ("MultiSelectionValue", "MultiSelectionValue"),
                            ("Boolean", "Boolean"),
                            ("Integer", "Integer"),
                            ("Decimal", "Decimal"),
                            ("Date", "Date"),
                            ("DateTime", "DateTime"),
                            ("Url", "Url"),
                            ("Files", "Files"),
                        ],
                        max_length=30,
                    ),
                ),
                ("is_invariant_culture", models.BooleanField(default=False)),
                ("target_facet", link("facets.facet", "+", blank=True, null=True)),
                ("can_add_new", models.BooleanField(default=False)),
                ("max_occurrence", models.PositiveIntegerField(blank=True, null=True)),
                ("read_only", models.BooleanField(default=False)),
            ],
            options={
                "verbose_name": "property",
                "verbose_name_plural": "properties",
                "ordering": ["position", "id"],
                "indexes": [models.Index(fields=["storage_id", "target_facet"], name="property_by_facet")],
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "type", "key"), name="property_key_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                models.Q(("data_type", ""), _negated=True),
                                ("max_occurrence__isnull", True),
                                ("target_facet__isnull", True),
                            ),
                            models.Q(
                                ("data_type", ""), ("max_occurrence__isnull", False), ("target_facet__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="attribute_or_related",
                    ),
                ],
            },
        ),
        IsolateTenantTable("property"),
        BumpConfigurationRevision("property"),
        migrations.CreateModel(
            name="RelatedType",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("property", link("facets.property", "related_types")),
                ("type", link("facets.elementtype", "+")),
            ],
            options={
                "ordering": ["position", "id"],
                "indexes": [models.Index(fields=["storage_id", "type"], name="related_by_type")],
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "property", "type"), name="related_type_once")
                ],
            },
        ),
        IsolateTenantTable("relatedtype"),
        BumpConfigurationRevision("relatedtype"),
        migrations.CreateModel(
            name="SelectableValue",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("property", link("facets.property", "selectable_values")),
                ("key", models.CharField(blank=True, max_length=100, null=True)),
                ("display_names", Texts(blank=True, default=dict)),
                ("descriptions", Texts(blank=True, default=dict)),
                ("tooltips", Texts(blank=True, default=dict)),
            ],
            options={
                "verbose_name": "selectable value",
                "verbose_name_plural": "selectable values",
                "ordering": ["position", "id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("storage_id", "property", "key"), name="value_key_once", nulls_distinct=False
                    )
                ],
            },
        ),
        IsolateTenantTable("selectablevalue"),
        BumpConfigurationRevision("selectablevalue"),
        migrations.CreateModel(
            name="ValidationRule",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("key", models.CharField(max_length=100)),
                ("property", models.CharField(max_length=100)),
                ("severity", models.CharField(choices=[("error", "error"), ("warning", "warning")], max_length=20)),
                ("messages", Texts(blank=True, default=dict)),
                ("states", models.JSONField(blank=True, default=list)),
                ("transitions", models.JSONField(blank=True, default=list)),
                ("per_culture", models.BooleanField(default=False, help_text="A value in each mandatory culture.")),
            ],
            options={
                "verbose_name": "validation rule",
                "verbose_name_plural": "validation rules",
                "ordering": ["position", "id"],
                "constraints": [models.UniqueConstraint(models.F("storage_id"), Lower("key"), name="rule_key_once")],
            },
        ),
        IsolateTenantTable("validationrule"),
        BumpConfigurationRevision("validationrule"),
        migrations.CreateModel(
            name="ViewType",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("view", link("facets.facetview", "types")),
                ("type", link("facets.elementtype", "views")),
                (
                    "shows_all",
                    models.BooleanField(default=False, help_text="Shows all properties, including future ones."),
                ),
                ("is_root", models.BooleanField(default=False, help_text="Can be a root of the view's tree.")),
            ],
            options={
                "ordering": ["position", "id"],
                "indexes": [models.Index(fields=["storage_id", "type"], name="view_type_by_type")],
                "constraints": [models.UniqueConstraint(fields=("storage_id", "view", "type"), name="view_type_once")],
            },
        ),
        IsolateTenantTable("viewtype"),
        BumpConfigurationRevision("viewtype"),
        migrations.CreateModel(
            name="ViewLayout",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("view_type", link("facets.viewtype", "layouts")),
                ("layout", link("facets.layout", "+")),
            ],
            options={
                "ordering": ["position", "id"],
                "indexes": [models.Index(fields=["storage_id", "layout"], name="view_layout_by_layout")],
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "view_type", "layout"), name="view_layout_once")
                ],
            },
        ),
        IsolateTenantTable("viewlayout"),
        BumpConfigurationRevision("viewlayout"),
        migrations.CreateModel(
            name="ViewProperty",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("position", models.PositiveIntegerField(default=0)),
                ("view_type", link("facets.viewtype", "properties")),
                ("property", link("facets.property", "+")),
            ],
            options={
                "ordering": ["position", "id"],
                "indexes": [models.Index(fields=["storage_id", "property"], name="view_property_by_property")],
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "view_type", "property"), name="view_property_once")
                ],
            },
        ),
        IsolateTenantTable("viewproperty"),
        BumpConfigurationRevision("viewproperty"),
    ]
