from __future__ import annotations

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("opsboard_jobs", "0006_progress"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.CharField(max_length=32, unique=True)),
                ("placed_at", models.DateTimeField()),
                ("customer", models.CharField(max_length=200)),
                ("note", models.TextField(blank=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "open"),
                            ("paid", "paid"),
                            ("shipped", "shipped"),
                            ("cancelled", "cancelled"),
                            ("refunded", "refunded"),
                        ],
                        max_length=16,
                    ),
                ),
                ("amount", models.DecimalField(decimal_places=2, max_digits=12)),
                ("currency", models.CharField(default="EUR", max_length=3)),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["placed_at", "id"], name="order_by_time")],
            },
        ),
        migrations.CreateModel(
            name="Export",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("period", models.CharField(max_length=20)),
                (
                    "order_status",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("open", "open"),
                            ("paid", "paid"),
                            ("shipped", "shipped"),
                            ("cancelled", "cancelled"),
                            ("refunded", "refunded"),
                        ],
                        max_length=16,
                    ),
                ),
                ("requested_at", models.DateTimeField()),
                ("rows", models.PositiveBigIntegerField(null=True)),
                ("size", models.PositiveBigIntegerField(null=True)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("ready_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("removed_at", models.DateTimeField(null=True)),
                ("reason", models.TextField(blank=True)),
                (
                    "mail_operation",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="opsboard_jobs.operation",
                    ),
                ),
                (
                    "operation",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="opsboard_jobs.operation",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="exports", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "permissions": [("request_export", "Can ask for exports of orders")],
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["owner", "-requested_at"], name="export_by_owner"),
                    models.Index(
                        condition=models.Q(("removed_at__isnull", True)), fields=["expires_at"], name="export_by_expiry"
                    ),
                ],
            },
        ),
    ]
