from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('facets', '0003_standard_cycle'),
    ]

    operations = [
        migrations.AddConstraint(
            model_name='elementtype',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('is_versioned', True), ('release_cycle__isnull', False)), models.Q(('is_versioned', False), ('release_cycle__isnull', True)), _connector='OR'), name='versions_have_a_cycle'),
        ),
    ]
