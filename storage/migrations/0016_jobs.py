"""The tables of the job queue (D334), and the errors of failed jobs."""

from pathlib import Path

from django.db import migrations, models

SCHEMA = Path(__file__).with_name("procrastinate-3.10.sql")
DROP = """
    DROP TABLE procrastinate_events, procrastinate_periodic_defers, procrastinate_jobs, procrastinate_workers CASCADE;
    DO $$ DECLARE each regprocedure; BEGIN
        FOR each IN SELECT oid::regprocedure FROM pg_proc WHERE proname LIKE 'procrastinate\\_%'
            AND pronamespace = current_schema()::regnamespace LOOP EXECUTE 'DROP FUNCTION ' || each || ' CASCADE';
        END LOOP;
    END $$;
    DROP TYPE procrastinate_job_to_defer_v1, procrastinate_job_status, procrastinate_job_event_type;
"""
ADD_KEY = """ALTER TABLE storage_jobfailure ADD CONSTRAINT job_failure_of_job
    FOREIGN KEY (job_id) REFERENCES procrastinate_jobs (id) ON DELETE CASCADE"""


class Migration(migrations.Migration):
    dependencies = [("storage", "0015_events")]
    operations = [
        migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), DROP),
        migrations.CreateModel(
            name="QueuedJob",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(db_column="task_name", max_length=128, verbose_name="name")),
                ("args", models.JSONField()),
                ("status", models.CharField(max_length=32, verbose_name="state")),
                ("scheduled_at", models.DateTimeField(null=True, verbose_name="not before")),
                ("attempts", models.IntegerField(verbose_name="attempts")),
            ],
            options={
                "verbose_name": "job",
                "verbose_name_plural": "jobs",
                "db_table": "procrastinate_jobs",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="JobFailure",
            fields=[
                (
                    "job",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=models.DO_NOTHING,
                        primary_key=True,
                        related_name="failure",
                        serialize=False,
                        to="storage.queuedjob",
                    ),
                ),
                ("failed_on", models.DateTimeField()),
                ("error", models.TextField()),
            ],
        ),
        migrations.RunSQL(ADD_KEY, migrations.RunSQL.noop),
    ]
