"""Tables of elements, versions, references and diagrams, and the triggers that keep content marks and version names."""

from uuid import uuid4

from django.db import migrations, models
from django.db.models import deletion
from django.db.models.functions import Cast

from storage.tenancy.migration_operations import AppendOnly, IsolateTenantTable, TenantForeignKey

# Every transaction that changes content replaces the marks of its storage, so equal marks mean equal content.
CONTENT_TABLES = ("element", "elementversion", "reference", "shape", "shapeflow")
MARK_CONTENT = """
CREATE FUNCTION elements_mark_content() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    scope text := nullif(current_setting('repository.storage', true), '');
BEGIN
    -- Without a scope no row can have changed. One mark a transaction is enough, and none while a storage is removed.
    IF scope IS NOT NULL AND current_setting('repository.marked', true) IS DISTINCT FROM scope
        AND current_setting('repository.removing', true) IS DISTINCT FROM scope THEN
        DELETE FROM elements_contentmark WHERE storage_id = scope::uuid AND id IN (
            SELECT id FROM elements_contentmark WHERE storage_id = scope::uuid FOR UPDATE SKIP LOCKED);
        INSERT INTO elements_contentmark (storage_id, id) VALUES (scope::uuid, gen_random_uuid());
        PERFORM set_config('repository.marked', scope, true);
    END IF;
    RETURN NULL;
END $$
"""
CONTENT_TRIGGER = """
CREATE TRIGGER content_changed AFTER INSERT OR UPDATE OR DELETE ON elements_{table}
    FOR EACH STATEMENT EXECUTE FUNCTION elements_mark_content()
"""

# The letters beyond ASCII that `fold_case` of the filter language changes.
LETTERS = [letter for letter in map(chr, range(0x80, 0x20000)) if letter.lower()[0] != letter]
# The function replaces only the letters that occur: `translate` would search the whole alphabet for each character.
FOLD = f"""
CREATE FUNCTION elements_fold_case(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    letters CONSTANT text := '{"".join(LETTERS)}';
    folded CONSTANT text := '{"".join(each.lower()[0] for each in LETTERS)}';
    found text := lower(value COLLATE "C");
    letter text;
BEGIN
    IF octet_length(value) > length(value) THEN
        FOR letter IN SELECT DISTINCT matched[1] COLLATE "C" FROM regexp_matches(
            value COLLATE "C", '([{"".join(LETTERS)}])', 'g') AS matched LOOP
            found := replace(found, letter, substr(folded, strpos(letters, letter), 1));
        END LOOP;
    END IF;
    RETURN found;
END $$
"""
NAMES_OF = """
CREATE FUNCTION elements_names_of(attributes jsonb) RETURNS SETOF text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT DISTINCT elements_fold_case(left(given.value #>> '{}', 200))
    FROM jsonb_each(CASE jsonb_typeof(attributes -> 'name') WHEN 'object' THEN attributes -> 'name' END) AS given
    WHERE jsonb_typeof(given.value) = 'string'
$$
"""
# EXCEPT finds the renamed versions in linear time. The planner knows no sizes of transition tables, so a join could
# compare every row with every other.
KEEP_NAMES = """
CREATE FUNCTION elements_keep_names() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed uuid[];
BEGIN
    -- Removing a storage deletes its names with everything else.
    IF TG_OP = 'DELETE' AND nullif(current_setting('repository.removing', true), '') IS NULL THEN
        DELETE FROM elements_versionname n USING before b WHERE n.storage_id = b.storage_id AND n.version_id = b.id;
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO elements_versionname (storage_id, id, version_id, folded)
            SELECT a.storage_id, gen_random_uuid(), a.id, name FROM after a, elements_names_of(a.attributes) name;
    ELSIF TG_OP = 'UPDATE' THEN
        changed := ARRAY(SELECT id FROM (SELECT storage_id, id, attributes -> 'name' FROM after
            EXCEPT SELECT storage_id, id, attributes -> 'name' FROM before) AS renamed);
        IF cardinality(changed) > 0 THEN
            DELETE FROM elements_versionname n USING after a
                WHERE a.id = ANY(changed) AND n.storage_id = a.storage_id AND n.version_id = a.id;
            INSERT INTO elements_versionname (storage_id, id, version_id, folded)
                SELECT a.storage_id, gen_random_uuid(), a.id, name FROM after a, elements_names_of(a.attributes) name
                WHERE a.id = ANY(changed);
        END IF;
    END IF;
    RETURN NULL;
END $$
"""
NAME_TRIGGERS = {
    "INSERT": "NEW TABLE AS after",
    "UPDATE": "OLD TABLE AS before NEW TABLE AS after",
    "DELETE": "OLD TABLE AS before",
}
NAME_TRIGGER = """
CREATE TRIGGER names_kept_on_{name} AFTER {event} ON elements_elementversion REFERENCING {tables}
    FOR EACH STATEMENT EXECUTE FUNCTION elements_keep_names()
"""


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
    dependencies = [("facets", "0001_initial")]
    operations = [
        migrations.CreateModel(
            name="Element",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("creation_id", models.UUIDField(help_text="The id of the first copy (D11).")),
                ("type", link("facets.elementtype", "+")),
                ("parent", link("elements.element", "children", null=True)),
                ("position", models.PositiveIntegerField(default=0, help_text="Position among the children of the parent.")),
            ],
            options={
                "verbose_name": "element",
                "verbose_name_plural": "elements",
                "indexes": [
                    models.Index(fields=["storage_id", "type", "id"], name="element_by_type"),
                    models.Index(fields=["storage_id", "parent", "position", "id"], name="element_by_parent"),
                ],
            },
        ),
        IsolateTenantTable("element", storage_through="type"),
        migrations.CreateModel(
            name="ElementVersion",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("element", link("elements.element", "versions")),
                ("state", models.CharField(blank=True, max_length=100)),
                (
                    "category",
                    models.CharField(
                        choices=[
                            ("draft", "draft"),
                            ("review", "review"),
                            ("published", "published"),
                            ("retired", "retired"),
                            ("static", "static"),
                        ],
                        help_text="Phase of the state in its release cycle, stored here for the constraints of the database.",
                        max_length=20,
                    ),
                ),
                ("major", models.PositiveIntegerField(null=True)),
                ("minor", models.PositiveIntegerField(null=True)),
                ("stereotype", models.CharField(blank=True, max_length=200)),
                ("attributes", models.JSONField(default=dict)),
                (
                    "sort_name",
                    models.TextField(db_collation="C", help_text="Name in the default culture, folded, for ordering."),
                ),
                ("valid_from", models.DateTimeField(null=True)),
                ("valid_until", models.DateTimeField(null=True)),
                ("created_on", models.DateTimeField()),
                ("created_by", link("elements.element", "+", null=True)),
                ("changed_on", models.DateTimeField()),
                ("changed_by", link("elements.element", "+", null=True)),
                ("released_on", models.DateTimeField(null=True)),
                ("released_by", link("elements.element", "+", null=True)),
                (
                    "revision",
                    models.PositiveBigIntegerField(
                        db_default=0, default=0, help_text="Counts the changes; part of the entity tag."
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["storage_id", "sort_name", "id"], name="version_by_name"),
                    models.Index(fields=["storage_id", "changed_on"], name="version_by_change"),
                    models.Index(fields=["storage_id", "created_on"], name="version_by_creation"),
                    models.Index(fields=["storage_id", "released_on"], name="version_by_release"),
                    models.Index(fields=["storage_id", "valid_from"], name="version_by_start"),
                    models.Index(fields=["storage_id", "valid_until"], name="version_by_end"),
                    models.Index(
                        condition=models.Q(("category", "published")),
                        fields=["storage_id", "valid_until"],
                        name="published_by_end",
                    ),
                    models.Index(fields=["storage_id", "created_by"], name="version_by_creator"),
                    models.Index(fields=["storage_id", "changed_by"], name="version_by_changer"),
                    models.Index(fields=["storage_id", "released_by"], name="version_by_releaser"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("storage_id", "element", "major", "minor"), name="version_number_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("category__in", ["draft", "review"])),
                        fields=("storage_id", "element"),
                        name="one_open_version",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("category", "published")),
                        fields=("storage_id", "element"),
                        name="one_published_version",
                    ),
                ],
            },
        ),
        IsolateTenantTable("elementversion", storage_through="element"),
        migrations.AddField(
            model_name="element",
            name="newest",
            field=link("elements.elementversion", "+", null=True),
        ),
        TenantForeignKey("element", "newest"),
        migrations.AddIndex(
            model_name="element",
            index=models.Index(fields=["storage_id", "newest"], name="element_by_newest"),
        ),
        migrations.AddField(
            model_name="element",
            name="published",
            field=link("elements.elementversion", "+", null=True),
        ),
        TenantForeignKey("element", "published"),
        migrations.AddIndex(
            model_name="element",
            index=models.Index(fields=["storage_id", "published"], name="element_by_published"),
        ),
        migrations.CreateModel(
            name="VersionName",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("version", link("elements.elementversion", "+")),
                ("folded", models.TextField(db_collation="C", help_text="Name with folded letter case, as in filters, and shortened.")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["storage_id", "folded", "version"], name="name_by_text"),
                    models.Index(fields=["storage_id", "version"], name="name_by_version"),
                ],
            },
        ),
        IsolateTenantTable("versionname", storage_through="version"),
        migrations.CreateModel(
            name="Reference",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("version", link("elements.elementversion", "references")),
                ("context", models.CharField(max_length=100)),
                ("position", models.PositiveIntegerField()),
                ("target", link("elements.element", "referenced_by")),
            ],
            options={
                "indexes": [models.Index(fields=["storage_id", "target"], name="reference_by_target")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("storage_id", "version", "context", "position"), name="reference_position_once"
                    )
                ],
            },
        ),
        IsolateTenantTable("reference", storage_through="version"),
        migrations.CreateModel(
            name="Shape",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("version", link("elements.elementversion", "shapes")),
                ("element", link("elements.element", "shapes")),
                ("position", models.PositiveIntegerField()),
            ],
            options={
                "indexes": [models.Index(fields=["storage_id", "element"], name="shape_by_element")],
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "version", "position"), name="shape_position_once")
                ],
            },
        ),
        IsolateTenantTable("shape", storage_through="version"),
        migrations.CreateModel(
            name="ShapeFlow",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("shape", link("elements.shape", "predecessors")),
                ("predecessor", link("elements.shape", "successors")),
                ("position", models.PositiveIntegerField()),
            ],
            options={
                "indexes": [models.Index(fields=["storage_id", "predecessor"], name="flow_by_predecessor")],
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "shape", "predecessor"), name="flow_once")
                ],
            },
        ),
        IsolateTenantTable("shapeflow", storage_through="shape"),
        migrations.CreateModel(
            name="ContentMark",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
            ],
        ),
        IsolateTenantTable("contentmark"),
        migrations.CreateModel(
            name="ElementChange",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("element_id", models.UUIDField()),
                ("version_id", models.UUIDField()),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("created", "Created"),
                            ("updated", "Updated"),
                            ("drawn", "diagram changed"),
                            ("versioned", "new version"),
                            ("transitioned", "state changed"),
                            ("deleted", "Deleted"),
                        ],
                        max_length=20,
                    ),
                ),
                ("changed_on", models.DateTimeField()),
                ("caller_id", models.UUIDField(help_text="The caller's element.", null=True)),
                ("caller_label", models.CharField(max_length=200)),
                ("request_id", models.CharField(max_length=128)),
                ("before", models.JSONField()),
                ("after", models.JSONField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["storage_id", "element_id", "changed_on", "id"], name="change_by_element"),
                    models.Index(fields=["storage_id", "changed_on", "id"], name="change_by_time"),
                ],
            },
        ),
        IsolateTenantTable("elementchange"),
        AppendOnly("elementchange"),
        migrations.CreateModel(
            name="User",
            fields=[],
            options={
                "verbose_name": "user",
                "verbose_name_plural": "users",
                "proxy": True,
            },
            bases=("elements.element",),
        ),
        migrations.CreateModel(
            name="UserGroup",
            fields=[],
            options={
                "verbose_name": "group",
                "verbose_name_plural": "groups",
                "proxy": True,
            },
            bases=("elements.element",),
        ),
        migrations.RunSQL(MARK_CONTENT, "DROP FUNCTION elements_mark_content()"),
        *(
            migrations.RunSQL(CONTENT_TRIGGER.format(table=table), f"DROP TRIGGER content_changed ON elements_{table}")
            for table in CONTENT_TABLES
        ),
        migrations.RunSQL(FOLD, "DROP FUNCTION elements_fold_case(text)"),
        migrations.RunSQL(NAMES_OF, "DROP FUNCTION elements_names_of(jsonb)"),
        migrations.RunSQL(KEEP_NAMES, "DROP FUNCTION elements_keep_names()"),
        *(
            migrations.RunSQL(
                NAME_TRIGGER.format(name=event.lower(), event=event, tables=tables),
                f"DROP TRIGGER names_kept_on_{event.lower()} ON elements_elementversion",
            )
            for event, tables in NAME_TRIGGERS.items()
        ),
    ]
