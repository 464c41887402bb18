"""Orders, and the exports that people have asked for."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs.models import Operation


class Order(models.Model):
    """What a customer has bought. Amounts below zero are credits."""

    class Status(models.TextChoices):
        OPEN = "open", _("open")
        PAID = "paid", _("paid")
        SHIPPED = "shipped", _("shipped")
        CANCELLED = "cancelled", _("cancelled")
        REFUNDED = "refunded", _("refunded")

    number = models.CharField(max_length=32, unique=True)
    placed_at = models.DateTimeField()
    customer = models.CharField(max_length=200)
    note = models.TextField(blank=True)
    status = models.CharField(max_length=16, choices=Status.choices)
    amount = models.DecimalField(max_digits=12, decimal_places=2)
    currency = models.CharField(max_length=3, default="EUR")

    class Meta:
        default_permissions = ()
        # What an export reads, in the order of its rows.
        indexes = [models.Index(fields=["placed_at", "id"], name="order_by_time")]

    def __str__(self) -> str:
        return self.number


class Export(models.Model):
    """One wish for a file, and what became of it. Its state is that of its operation (exports.states), and no column.

    The name of its file follows from its id (exports.files): nothing stored here is ever taken for a path.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="exports")
    period = models.CharField(max_length=20)
    """As it was asked for: 2025, 2025-Q3, 2025-11. Whether there is such a period is found out by the job."""
    order_status = models.CharField(max_length=16, choices=Order.Status.choices, blank=True)
    """Only orders of this status; '' for all."""
    requested_at = models.DateTimeField()
    operation = models.OneToOneField(Operation, null=True, on_delete=models.PROTECT, related_name="+")
    """The one that builds the file; None only within the transaction that accepts the wish."""
    mail_operation = models.OneToOneField(Operation, null=True, on_delete=models.PROTECT, related_name="+")
    """The one that says by mail that it is ready; None before that, and where no address is known."""
    rows = models.PositiveBigIntegerField(null=True)
    size = models.PositiveBigIntegerField(null=True)
    """In bytes."""
    sha256 = models.CharField(max_length=64, blank=True)
    ready_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    """From then on the file is not handed out, and is removed."""
    removed_at = models.DateTimeField(null=True)
    """When its file was removed."""
    reason = models.TextField(blank=True)
    """Why it failed, in words for its owner; '' where the job had no time to say so."""

    class Meta:
        default_permissions = ()
        permissions = [("request_export", "Can ask for exports of orders")]
        indexes = [
            models.Index(fields=["owner", "-requested_at"], name="export_by_owner"),
            models.Index(fields=["expires_at"], name="export_by_expiry", condition=models.Q(removed_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"export {self.pk}"
