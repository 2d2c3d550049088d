"""Tables of collections, storages and access, and the triggers that count configuration revisions."""

from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import UserManager
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.contrib.postgres.fields import ArrayField
from django.core import validators
from django.db import migrations, models
from django.db.models import deletion
from django.db.models.functions import Cast, Lower
from django.utils import timezone

from storage.tenancy.migration_operations import IsolateTenantTable

# Revisions come from a sequence, which a rollback does not turn back. No revision is used twice, so a cache that saw
# the revision of a failed transaction cannot mistake a later one for it.
#
# On tenant tables the trigger runs once per statement, before the rows change: every writer locks the storage first, and
# the scope names the storage. Cultures are written outside of a scope, so their trigger runs for each row.
# `repository_keep_revision` stops code that saves a storage from writing an old revision back.
REVISIONS = """
CREATE SEQUENCE repository_configuration_revision;
CREATE FUNCTION repository_configuration_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_storage SET configuration_revision = nextval('repository_configuration_revision')
     WHERE id = current_setting('repository.storage')::uuid;
    RETURN NULL;
END $$;
CREATE FUNCTION repository_cultures_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE storage_storage SET configuration_revision = nextval('repository_configuration_revision')
     WHERE id IN (NEW.storage_id, OLD.storage_id);
    RETURN NULL;
END $$;
CREATE FUNCTION repository_keep_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() < 2 THEN
        NEW.configuration_revision := OLD.configuration_revision;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER cultures_changed AFTER INSERT OR UPDATE OR DELETE ON storage_culture
    FOR EACH ROW EXECUTE FUNCTION repository_cultures_changed();
CREATE TRIGGER keep_revision BEFORE UPDATE ON storage_storage
    FOR EACH ROW EXECUTE FUNCTION repository_keep_revision();
"""
NO_REVISIONS = """
DROP TRIGGER keep_revision ON storage_storage;
DROP TRIGGER cultures_changed ON storage_culture;
DROP FUNCTION repository_keep_revision();
DROP FUNCTION repository_cultures_changed();
DROP FUNCTION repository_configuration_changed();
DROP SEQUENCE repository_configuration_revision;
"""


def storage_id():
    """Return the column that the database fills from the tenant scope."""
    scope = models.Func(models.Value("repository.storage"), function="current_setting", output_field=models.TextField())
    return models.UUIDField(db_default=Cast(scope, output_field=models.UUIDField()), editable=False)


class Migration(migrations.Migration):
    initial = True
    dependencies = [("auth", "0012_alter_user_first_name_max_length")]
    operations = [
        migrations.CreateModel(
            name="StorageCollection",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "key",
                    models.CharField(
                        help_text="First segment of every address of the collection.", max_length=63, verbose_name="id"
                    ),
                ),
                ("title", models.CharField(blank=True, max_length=200, verbose_name="title")),
                ("description", models.TextField(blank=True, verbose_name="description")),
                ("created_on", models.DateTimeField(auto_now_add=True, verbose_name="created on")),
            ],
            options={
                "verbose_name": "collection",
                "verbose_name_plural": "collections",
                "ordering": ["key"],
                "constraints": [models.UniqueConstraint(Lower("key"), name="collection_key_unique")],
            },
        ),
        migrations.CreateModel(
            name="Storage",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "collection",
                    models.ForeignKey(
                        on_delete=deletion.PROTECT,
                        related_name="storages",
                        to="storage.storagecollection",
                        verbose_name="collection",
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        help_text="Second segment of every address of the storage.", max_length=63, verbose_name="id"
                    ),
                ),
                (
                    "base",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=deletion.PROTECT,
                        related_name="derived",
                        to="storage.storage",
                        verbose_name="base storage",
                    ),
                ),
                ("title", models.CharField(blank=True, max_length=200, verbose_name="title")),
                ("description", models.TextField(blank=True, verbose_name="description")),
                ("template", models.CharField(max_length=200, verbose_name="template")),
                (
                    "region",
                    models.CharField(help_text="ISO 3166 code, such as DE.", max_length=2, verbose_name="region"),
                ),
                (
                    "time_zone",
                    models.CharField(
                        help_text="IANA name, such as Europe/Berlin.", max_length=64, verbose_name="time zone"
                    ),
                ),
                (
                    "is_valid",
                    models.BooleanField(
                        default=True,
                        help_text="Shown to clients in the storage info. It has no other effect.",
                        verbose_name="valid",
                    ),
                ),
                (
                    "anonymous_access",
                    models.CharField(
                        choices=[("none", "no access"), ("read", "read released content")],
                        default="none",
                        max_length=4,
                        verbose_name="callers without a credential",
                    ),
                ),
                (
                    "token_in_query",
                    models.BooleanField(
                        default=False,
                        help_text="Accept the token as a query parameter. Not recommended: addresses appear in logs.",
                        verbose_name="token in the address",
                    ),
                ),
                (
                    "stuck_after_days",
                    models.PositiveSmallIntegerField(
                        db_default=14,
                        default=14,
                        help_text="Days for which a release task may be open.",
                        validators=[validators.MinValueValidator(1), validators.MaxValueValidator(3650)],
                        verbose_name="tasks count as stuck after",
                    ),
                ),
                (
                    "configuration_revision",
                    models.BigIntegerField(
                        default=0,
                        editable=False,
                        help_text="Random number that the database replaces with every configuration change; read-only for code.",
                    ),
                ),
                ("created_on", models.DateTimeField(auto_now_add=True, verbose_name="created on")),
            ],
            options={
                "verbose_name": "storage",
                "verbose_name_plural": "storages",
                "ordering": ["collection__key", "key"],
                "constraints": [
                    models.UniqueConstraint(models.F("collection"), Lower("key"), name="storage_key_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="Culture",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "storage",
                    models.ForeignKey(on_delete=deletion.CASCADE, related_name="cultures", to="storage.storage"),
                ),
                ("lcid", models.PositiveIntegerField()),
                ("position", models.PositiveSmallIntegerField()),
                ("is_default", models.BooleanField(default=False)),
                ("is_mandatory", models.BooleanField(default=False)),
            ],
            options={
                "ordering": ["position"],
                "constraints": [
                    models.UniqueConstraint(fields=("storage", "lcid"), name="culture_once_a_storage"),
                    models.UniqueConstraint(
                        condition=models.Q(("is_default", True)), fields=("storage",), name="culture_one_default"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="StaffAccount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "A user with that username already exists."},
                        help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                        max_length=150,
                        unique=True,
                        validators=[UnicodeUsernameValidator()],
                        verbose_name="username",
                    ),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                ("date_joined", models.DateTimeField(default=timezone.now, verbose_name="date joined")),
                (
                    "language",
                    models.CharField(
                        blank=True,
                        choices=[("en", "English"), ("de", "Deutsch")],
                        help_text="Language of the back office. Leave empty to use the preferred language of the browser.",
                        max_length=10,
                        verbose_name="language",
                    ),
                ),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "verbose_name": "staff account",
                "verbose_name_plural": "staff accounts",
            },
            managers=[
                ("objects", UserManager()),
            ],
        ),
        migrations.CreateModel(
            name="StorageMembership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=deletion.CASCADE, related_name="memberships", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "storage",
                    models.ForeignKey(on_delete=deletion.CASCADE, related_name="memberships", to="storage.storage"),
                ),
                (
                    "roles",
                    ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("viewer", "viewer"),
                                ("analyzer", "analyzer"),
                                ("editor", "editor"),
                                ("approver", "approver"),
                                ("architect", "architect"),
                                ("administrator", "administrator"),
                            ],
                            max_length=20,
                        ),
                        size=None,
                    ),
                ),
                (
                    "user_id",
                    models.UUIDField(
                        blank=True,
                        help_text="The user element of this account in the storage. Changes show its name, and its role attributes limit the roles.",
                        null=True,
                    ),
                ),
            ],
            options={
                "verbose_name": "membership",
                "verbose_name_plural": "staff",
                "constraints": [models.UniqueConstraint(fields=("account", "storage"), name="membership_once")],
            },
        ),
        migrations.AddField(
            model_name="staffaccount",
            name="storages",
            field=models.ManyToManyField(
                related_name="staff", through="storage.StorageMembership", to="storage.storage"
            ),
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                ("name", models.CharField(max_length=200, verbose_name="name")),
                (
                    "storage",
                    models.ForeignKey(
                        null=True, on_delete=deletion.CASCADE, related_name="tokens", to="storage.storage"
                    ),
                ),
                (
                    "collection",
                    models.ForeignKey(
                        null=True, on_delete=deletion.CASCADE, related_name="tokens", to="storage.storagecollection"
                    ),
                ),
                (
                    "roles",
                    ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("viewer", "viewer"),
                                ("analyzer", "analyzer"),
                                ("editor", "editor"),
                                ("approver", "approver"),
                                ("architect", "architect"),
                                ("administrator", "administrator"),
                            ],
                            max_length=20,
                        ),
                        size=None,
                    ),
                ),
                ("user_id", models.UUIDField(help_text="The user element of the calls with this token.", null=True)),
                ("valid_from", models.DateTimeField(verbose_name="valid from")),
                ("valid_until", models.DateTimeField(null=True, verbose_name="valid until")),
                ("created_on", models.DateTimeField(verbose_name="issued on")),
                ("last_used_on", models.DateTimeField(null=True, verbose_name="last used on")),
                ("revoked_on", models.DateTimeField(null=True, verbose_name="revoked on")),
                ("rotated_on", models.DateTimeField(null=True)),
                ("old_digest", models.BinaryField(max_length=32, null=True, unique=True)),
                ("old_valid_until", models.DateTimeField(null=True)),
                ("old_last_used_on", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name": "API token",
                "verbose_name_plural": "API tokens",
                "ordering": ["created_on", "id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("storage__isnull", True), ("collection__isnull", True), _connector="OR"),
                        name="token_one_scope",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AnsweredRequest",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("caller", models.CharField(max_length=200)),
                ("key", models.CharField(max_length=255)),
                ("digest", models.BinaryField(max_length=32)),
                ("headers", models.JSONField(default=dict)),
                ("body", models.BinaryField(default=b"")),
                ("created_on", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["storage_id", "created_on"], name="answered_request_by_age")],
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "caller", "key"), name="answered_request_once")
                ],
            },
        ),
        IsolateTenantTable("answeredrequest"),
        migrations.CreateModel(
            name="FailedSignIn",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("network", models.CharField(max_length=50, verbose_name="address")),
                ("name_digest", models.BinaryField(default=b"", max_length=32)),
                (
                    "account",
                    models.ForeignKey(
                        null=True, on_delete=deletion.CASCADE, to=settings.AUTH_USER_MODEL, verbose_name="staff account"
                    ),
                ),
                ("failures", models.PositiveIntegerField(verbose_name="failures")),
                ("since", models.DateTimeField(verbose_name="since")),
                ("last_on", models.DateTimeField(verbose_name="last on")),
            ],
            options={
                "verbose_name": "failed sign-in",
                "verbose_name_plural": "failed sign-ins",
                "ordering": ["-last_on", "id"],
                "indexes": [models.Index(fields=["since"], name="failed_sign_in_by_time")],
                "constraints": [models.UniqueConstraint(fields=("network", "name_digest"), name="failed_sign_in_once")],
            },
        ),
        migrations.CreateModel(
            name="LifecycleRun",
            fields=[
                (
                    "storage",
                    models.OneToOneField(
                        on_delete=deletion.CASCADE,
                        primary_key=True,
                        related_name="lifecycle_run",
                        serialize=False,
                        to="storage.storage",
                    ),
                ),
                ("ended_on", models.DateTimeField(help_text="End of the last successful run.", null=True)),
                ("failed_on", models.DateTimeField(help_text="Time of the last failed run.", null=True)),
                ("milliseconds", models.PositiveBigIntegerField(default=0, help_text="Duration of the last run.")),
                ("runs", models.PositiveBigIntegerField(default=0)),
                ("failures", models.PositiveBigIntegerField(default=0, help_text="Number of failed runs.")),
                ("open_tasks", models.PositiveBigIntegerField(default=0)),
                ("overdue_tasks", models.PositiveBigIntegerField(default=0, help_text="Open for longer than allowed.")),
                (
                    "stuck_tasks",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Stuck for any reason; includes overdue tasks."
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RequestCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "storage",
                    models.ForeignKey(
                        db_index=False, on_delete=deletion.CASCADE, related_name="request_counts", to="storage.storage"
                    ),
                ),
                ("hour", models.DateTimeField(help_text="Start of the hour.")),
                ("requests", models.PositiveBigIntegerField(default=0)),
                ("client_errors", models.PositiveBigIntegerField(default=0, help_text="Responses with a 4xx status.")),
                ("server_errors", models.PositiveBigIntegerField(default=0, help_text="Responses with a 5xx status.")),
                (
                    "milliseconds",
                    models.PositiveBigIntegerField(default=0, help_text="Total duration of all requests."),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["hour"], name="request_count_by_hour")],
                "constraints": [models.UniqueConstraint(fields=("storage", "hour"), name="request_count_once_an_hour")],
            },
        ),
        migrations.CreateModel(
            name="StorageSize",
            fields=[
                (
                    "storage",
                    models.OneToOneField(
                        on_delete=deletion.CASCADE,
                        primary_key=True,
                        related_name="size",
                        serialize=False,
                        to="storage.storage",
                    ),
                ),
                ("measured_on", models.DateTimeField(verbose_name="measured on")),
                ("elements", models.PositiveBigIntegerField(default=0, verbose_name="elements")),
                ("versions", models.PositiveBigIntegerField(default=0, verbose_name="versions")),
                ("references", models.PositiveBigIntegerField(default=0, verbose_name="references")),
                ("shapes", models.PositiveBigIntegerField(default=0, verbose_name="shapes")),
                (
                    "rows",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Rows of all tables, including the configuration.", verbose_name="rows"
                    ),
                ),
                (
                    "bytes",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Stored size without indexes.", verbose_name="bytes"
                    ),
                ),
            ],
        ),
        migrations.RunSQL(REVISIONS, NO_REVISIONS),
    ]
