"""Failed sign-ins (D146) by network and account, and sessions of accounts (D552)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from storage.models.staff import StaffAccount

# Attempts with a second factor, from everywhere (D553).
ALL_NETWORKS = "all networks"


class FailedSignIn(models.Model):
    """The failures of one time window from one network, for one name or, without a digest, for all names.

    Names are stored as keyed digests: somebody may have typed a password into the name field.
    """

    network = models.CharField(_("address"), max_length=50)
    name_digest = models.BinaryField(max_length=32, default=b"", editable=False)
    account = models.ForeignKey(StaffAccount, on_delete=models.CASCADE, null=True, verbose_name=_("staff account"))
    failures = models.PositiveIntegerField(_("failures"))
    since = models.DateTimeField(_("since"))
    last_on = models.DateTimeField(_("last on"))

    class Meta:
        verbose_name = _("failed sign-in")
        verbose_name_plural = _("failed sign-ins")
        ordering = ["-last_on", "id"]
        constraints = [models.UniqueConstraint(fields=["network", "name_digest"], name="failed_sign_in_once")]
        indexes = [models.Index(fields=["since"], name="failed_sign_in_by_time")]

    def __str__(self) -> str:
        return f"{self.account or ''} {self.network}".strip()

    @property
    def counts_until(self) -> datetime:
        return self.since + timedelta(minutes=settings.SIGN_IN_WINDOW)

    @property
    def limit(self) -> int:
        if self.network == ALL_NETWORKS:
            return int(2 * settings.SIGN_IN_FAILURES)
        return settings.SIGN_IN_FAILURES if bytes(self.name_digest) else settings.SIGN_IN_FAILURES_PER_ADDRESS

    def blocked_until(self, now: datetime) -> datetime | None:
        """Return the end of the block, or None while more attempts are permitted."""
        return self.counts_until if self.failures >= self.limit and self.counts_until > now else None


class AccountSession(models.Model):
    """A session of an account. The session itself is Django's."""

    session_key = models.CharField(max_length=40, unique=True)
    account = models.ForeignKey(StaffAccount, on_delete=models.CASCADE, related_name="sessions")
    network = models.CharField(max_length=50, help_text="Network of the last use.")
    device = models.CharField(max_length=40, blank=True, help_text="Browser and system, without versions.")
    began_on = models.DateTimeField()
    last_on = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.account} {self.began_on:%Y-%m-%d %H:%M}"
