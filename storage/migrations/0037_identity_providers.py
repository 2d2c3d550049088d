"""Providers for single sign-on (D501)."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0034_token_addresses")]
    operations = [
        migrations.CreateModel(
            name="IdentityProvider",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("key", models.SlugField(help_text="Part of the addresses that the provider calls.", max_length=40, unique=True, verbose_name="id")),
                ("name", models.CharField(help_text="Shown on the button for signing in.", max_length=40, verbose_name="name")),
                ("collection", models.ForeignKey(blank=True, help_text="A provider of a collection grants roles in its storages only. Empty for the installation.", null=True, on_delete=django.db.models.deletion.PROTECT, related_name="identity_providers", to="storage.storagecollection", verbose_name="collection")),
                ("issuer", models.CharField(help_text="As the provider names it in its discovery document.", max_length=500, verbose_name="issuer")),
                ("client_id", models.CharField(max_length=191, verbose_name="client id")),
                ("secret", models.TextField(blank=True, help_text="Encrypted.")),
                ("scopes", models.CharField(default="openid profile email", help_text="Separated by spaces.", max_length=200, verbose_name="scopes")),
                ("mail_domains", django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=253), blank=True, default=list, help_text="Domains of the accounts that the provider signs in.", size=None, verbose_name="mail domains")),
                ("refuses_passwords", models.BooleanField(default=False, help_text="Accounts with these mail domains cannot sign in with a password, except site administrators.", verbose_name="no passwords")),
                ("verifies_addresses", models.BooleanField(default=False, help_text="The provider verifies every address of these domains, even if its tokens do not say so.", verbose_name="addresses are verified")),
                ("accepts_tokens", models.BooleanField(default=False, help_text="The API accepts access tokens of the provider.", verbose_name="access tokens")),
                ("audience", models.CharField(blank=True, help_text="The audience that access tokens must have.", max_length=200, verbose_name="audience")),
                ("is_enabled", models.BooleanField(default=True, verbose_name="enabled")),
                ("is_from_settings", models.BooleanField(default=False, editable=False)),
            ],
            options={
                "verbose_name": "identity provider",
                "verbose_name_plural": "identity providers",
                "ordering": ["name", "key"],
            },
        ),
    ]
