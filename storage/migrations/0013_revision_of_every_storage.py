"""Every storage has a row with its revision, whatever creates the storage (D257).

Release 0.1.0, which runs until it is restarted, creates storages without one. It does not run on Citus, where
`distribute` drops the trigger: a trigger of a table that every node has cannot write a row of one node.
"""

from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

CREATE = """
CREATE FUNCTION repository_storage_created() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO storage_storagerevision (storage_id) VALUES (NEW.id) ON CONFLICT (storage_id) DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER storage_created AFTER INSERT ON storage_storage
    FOR EACH ROW EXECUTE FUNCTION repository_storage_created();
INSERT INTO storage_storagerevision (storage_id, configuration_revision) SELECT id, configuration_revision
    FROM storage_storage ON CONFLICT (storage_id) DO NOTHING;
"""
DROP = "DROP TRIGGER IF EXISTS storage_created ON storage_storage; DROP FUNCTION IF EXISTS repository_storage_created();"


def create(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
    if not getattr(editor.connection, "is_distributed", False):
        editor.execute(CREATE)


def drop(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
    editor.execute(DROP)


class Migration(migrations.Migration):
    dependencies = [("storage", "0012_growth_index")]
    operations = [migrations.RunPython(create, drop)]
