from django.db import migrations

from storage.tenancy.migration_operations import RenewPolicies


class Migration(migrations.Migration):
    dependencies = [("storage", "0006_measurements")]
    operations = [RenewPolicies()]
