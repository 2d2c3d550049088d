from django.db import migrations, models


def fill_categories(apps, schema_editor):
    """What the states of the versions mean, by their release cycles; elements without versions are static."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute('SELECT id FROM storage_storage')
        for storage, in cursor.fetchall():
            cursor.execute("SELECT set_config('repository.storage', %s, true)", [str(storage)])
            cursor.execute(
                'UPDATE elements_elementversion v SET category = s.category FROM elements_element e, facets_elementtype t,'
                ' facets_cyclestate s WHERE e.id = v.element_id AND t.id = e.type_id AND s.cycle_id = t.release_cycle_id'
                ' AND s.key = v.state'
            )
        cursor.execute("SELECT set_config('repository.storage', '', true)")


class Migration(migrations.Migration):

    dependencies = [
        ('elements', '0004_version_numbers'),
        ('facets', '0004_versions_have_a_cycle'),
    ]

    operations = [
        migrations.AddField(
            model_name='elementversion',
            name='category',
            field=models.CharField(choices=[('draft', 'draft'), ('review', 'review'), ('published', 'published'), ('retired', 'retired'), ('static', 'static')], default='static', help_text='What the release cycle says of the state; it stands here so that the database can hold the rules.', max_length=20),
            preserve_default=False,
        ),
        migrations.RunPython(fill_categories, migrations.RunPython.noop),
    ]
