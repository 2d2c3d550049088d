"""Tables of the lifecycle log and of release tasks."""

from uuid import uuid4

from django.db import migrations, models
from django.db.models import deletion
from django.db.models.functions import Cast

from storage.tenancy.migration_operations import AppendOnly, IsolateTenantTable


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
    dependencies = [("elements", "0001_initial")]
    operations = [
        migrations.CreateModel(
            name="LifecycleEntry",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("element_id", models.UUIDField()),
                ("number", models.PositiveIntegerField(help_text="Counts the steps of the element.")),
                ("version_id", models.UUIDField()),
                ("version", models.CharField(help_text="Number of the version after the step.", max_length=30)),
                (
                    "step",
                    models.CharField(
                        choices=[
                            ("version", "new version"),
                            ("transition", "Transition"),
                            ("succession", "replaced by a newer version"),
                            ("effect", "validFrom reached"),
                            ("expiry", "validUntil reached"),
                            ("request", "task created"),
                            ("rejection", "task rejected"),
                            ("withdrawal", "task withdrawn"),
                            ("delegation", "task delegated"),
                            ("reminder", "reminder of a task"),
                        ],
                        max_length=20,
                    ),
                ),
                ("from_state", models.CharField(blank=True, max_length=100)),
                ("to_state", models.CharField(max_length=100)),
                ("transition", models.CharField(blank=True, max_length=100)),
                ("changed_on", models.DateTimeField()),
                ("caller_id", models.UUIDField(help_text="The caller's element.", null=True)),
                ("caller_label", models.CharField(max_length=200)),
                ("request_id", models.CharField(max_length=128)),
                ("comment", models.TextField(blank=True)),
                ("ignored_warnings", models.JSONField(default=list)),
                ("task_id", models.UUIDField(null=True)),
                ("assignee_id", models.UUIDField(help_text="The new assignee of a task, or the approver on whose behalf it was decided.", null=True)),
            ],
            options={
                "verbose_name": "step of the lifecycle",
                "verbose_name_plural": "lifecycle log",
                "indexes": [models.Index(fields=["storage_id", "changed_on", "id"], name="entry_by_time")],
                "constraints": [
                    models.UniqueConstraint(fields=("storage_id", "element_id", "number"), name="entry_number_once")
                ],
            },
        ),
        IsolateTenantTable("lifecycleentry"),
        AppendOnly("lifecycleentry"),
        migrations.CreateModel(
            name="Task",
            fields=[
                ("id", models.UUIDField(default=uuid4, editable=False, primary_key=True, serialize=False)),
                ("storage_id", storage_id()),
                ("type", models.CharField(max_length=100)),
                ("element", link("elements.element", "+")),
                ("version", link("elements.elementversion", "+")),
                ("revision", models.PositiveBigIntegerField(help_text="Revision of the version when the task was created.")),
                ("transition", models.CharField(max_length=100)),
                ("source_state", models.CharField(max_length=100)),
                ("target_state", models.CharField(max_length=100)),
                (
                    "valid_until",
                    models.DateTimeField(
                        help_text="The requested end; empty means the day of acceptance.", null=True
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("accepted", "Accepted"),
                            ("rejected", "Rejected"),
                            ("withdrawn", "Withdrawn"),
                            ("obsolete", "overtaken by a newer version or by expiry"),
                        ],
                        default="open",
                        max_length=20,
                    ),
                ),
                ("requested_on", models.DateTimeField()),
                ("requester_id", models.UUIDField(null=True)),
                ("requester_label", models.CharField(max_length=200)),
                ("comment", models.TextField(blank=True)),
                ("assignee_id", models.UUIDField(help_text="A user or a group; empty means every approver.", null=True)),
                ("decided_on", models.DateTimeField(null=True)),
                ("decider_id", models.UUIDField(null=True)),
                ("decider_label", models.CharField(blank=True, max_length=200)),
                ("decision", models.TextField(blank=True, help_text="The comment of the decider.")),
                ("stuck_on", models.DateTimeField(null=True)),
                ("stuck_reasons", models.JSONField(default=list)),
            ],
            options={
                "verbose_name": "task",
                "verbose_name_plural": "tasks",
                "ordering": ["requested_on", "id"],
                "indexes": [
                    models.Index(fields=["storage_id", "state", "requested_on", "id"], name="task_by_state"),
                    models.Index(fields=["storage_id", "assignee_id"], name="task_by_assignee"),
                    models.Index(fields=["storage_id", "element"], name="task_by_element"),
                    models.Index(fields=["storage_id", "version"], name="task_by_version"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "open")), fields=("storage_id", "version"), name="one_open_task"
                    )
                ],
            },
        ),
        IsolateTenantTable("task"),
    ]
