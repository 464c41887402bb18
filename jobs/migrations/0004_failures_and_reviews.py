from __future__ import annotations

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from jobs.migrations._append_only import RESOLUTIONS


class Migration(migrations.Migration):
    dependencies = [
        ("opsboard_jobs", "0003_append_only_audit"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ObserverState",
            fields=[
                ("name", models.CharField(default="observer", max_length=16, primary_key=True, serialize=False)),
                ("holder", models.UUIDField(null=True)),
                ("host", models.CharField(blank=True, max_length=255)),
                ("pid", models.PositiveIntegerField(null=True)),
                ("leads_since", models.DateTimeField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("last_pass_at", models.DateTimeField(null=True)),
                ("report", models.JSONField(default=dict)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="FailedJob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(max_length=32, unique=True)),
                ("connection", models.CharField(max_length=64)),
                ("queue", models.CharField(max_length=512)),
                ("job_id", models.CharField(max_length=512)),
                ("can_open", models.BooleanField(default=True)),
                ("job_type", models.CharField(blank=True, max_length=512)),
                (
                    "place",
                    models.CharField(
                        choices=[
                            ("failed", "failed"),
                            ("moved", "no longer failed"),
                            ("gone", "gone from Redis"),
                            ("deleted", "deleted"),
                        ],
                        default="failed",
                        max_length=16,
                    ),
                ),
                ("verdict", models.CharField(blank=True, max_length=16)),
                ("is_open", models.BooleanField(default=True)),
                ("finding", models.CharField(max_length=32)),
                ("error_class", models.CharField(blank=True, max_length=200)),
                ("error_line", models.CharField(blank=True, max_length=400)),
                ("note", models.CharField(blank=True, max_length=200)),
                ("ids", models.JSONField(blank=True, default=list)),
                ("hidden_arguments", models.PositiveIntegerField(default=0)),
                ("seen", models.CharField(blank=True, max_length=128)),
                ("score", models.CharField(blank=True, max_length=32)),
                ("failed_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(null=True)),
                ("enqueued_at", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("worker_name", models.CharField(blank=True, max_length=200)),
                ("noticed_at", models.DateTimeField()),
                ("left_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-failed_at", "-id"],
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["connection", "queue", "is_open", "-failed_at", "-id"], name="failed_by_time"),
                    models.Index(
                        fields=["connection", "queue", "is_open", "job_type", "-failed_at", "-id"],
                        name="failed_by_type",
                    ),
                    models.Index(
                        fields=["connection", "queue", "is_open", "error_class", "-failed_at", "-id"],
                        name="failed_by_error",
                    ),
                    models.Index(
                        fields=["connection", "queue", "is_open", "finding", "-failed_at", "-id"],
                        name="failed_by_finding",
                    ),
                    models.Index(fields=["connection", "place", "queue", "id"], name="failed_by_place"),
                    models.Index(
                        condition=models.Q(("can_open", False)),
                        fields=["connection", "place", "queue"],
                        name="failed_odd",
                    ),
                    models.Index(fields=["left_at"], name="failed_by_leaving"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Operation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("operation_id", models.CharField(max_length=600, unique=True)),
                ("connection", models.CharField(max_length=64)),
                ("queue", models.CharField(max_length=512)),
                ("job_id", models.CharField(max_length=512)),
                ("job_type", models.CharField(blank=True, max_length=512)),
                ("job_created_at", models.DateTimeField(null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("accepted", "accepted"),
                            ("queued", "queued"),
                            ("running", "running"),
                            ("retry_wait", "waiting for a retry"),
                            ("unknown", "result unknown"),
                            ("completed", "completed"),
                            ("failed", "failed"),
                            ("cancelled", "cancelled"),
                        ],
                        max_length=16,
                    ),
                ),
                ("reason_code", models.CharField(blank=True, max_length=64)),
                ("reason_text", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("connection", "queue", "job_id", "job_created_at"), name="operation_once_per_job"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Review",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("run", models.CharField(max_length=128)),
                ("code", models.CharField(max_length=64)),
                ("finding", models.CharField(max_length=32)),
                ("sentence", models.TextField()),
                ("evidence", models.JSONField(default=dict)),
                ("looked_at", models.DateTimeField(null=True)),
                ("look_due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("opened_by_name", models.CharField(blank=True, max_length=150)),
                ("opened_at", models.DateTimeField()),
                ("last_sign_of_life", models.DateTimeField(null=True)),
                ("due_at", models.DateTimeField()),
                ("snoozed_until", models.DateTimeField(null=True)),
                ("claimed_by_name", models.CharField(blank=True, max_length=150)),
                ("claimed_until", models.DateTimeField(null=True)),
                ("version", models.PositiveIntegerField(default=1)),
                ("closed_at", models.DateTimeField(null=True)),
                ("verdict", models.CharField(blank=True, max_length=16)),
                (
                    "claimed_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "opened_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "operation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
                        to="opsboard_jobs.operation",
                    ),
                ),
            ],
            options={
                "ordering": ["opened_at", "id"],
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="Resolution",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("actor_name", models.CharField(blank=True, max_length=150)),
                (
                    "source",
                    models.CharField(
                        choices=[("human", "a person"), ("late_evidence", "late evidence")],
                        default="human",
                        max_length=16,
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("happened", "it happened"),
                            ("did_not_happen", "it did not happen"),
                            ("abandon", "abandoned"),
                            ("snooze", "put off"),
                        ],
                        max_length=16,
                    ),
                ),
                ("version_seen", models.PositiveIntegerField()),
                ("evidence", models.JSONField(default=dict)),
                ("reason", models.TextField(blank=True)),
                ("liveness", models.TextField(blank=True)),
                ("decision_code", models.CharField(blank=True, max_length=64)),
                ("snoozed_until", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "audit_entry",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="resolution",
                        to="opsboard_jobs.auditentry",
                    ),
                ),
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="resolutions",
                        to="opsboard_jobs.review",
                    ),
                ),
            ],
            options={
                "ordering": ["created_at", "id"],
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="ObservedAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("result_id", models.CharField(max_length=64)),
                ("kind", models.CharField(max_length=32)),
                ("worker_name", models.CharField(blank=True, max_length=200)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("recorded_at", models.DateTimeField(null=True)),
                ("error_class", models.CharField(blank=True, max_length=200)),
                ("error_line", models.CharField(blank=True, max_length=400)),
                ("compressed_text", models.BinaryField(default=bytes)),
                ("is_shortened", models.BooleanField(default=False)),
                (
                    "failed_job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attempts",
                        to="opsboard_jobs.failedjob",
                    ),
                ),
            ],
            options={
                "ordering": ["-recorded_at", "-id"],
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(fields=("failed_job", "result_id"), name="attempt_once_per_result")
                ],
            },
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(fields=["closed_at", "opened_at", "id"], name="review_by_age"),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(
                condition=models.Q(("closed_at", None)), fields=["look_due_at", "id"], name="review_by_look"
            ),
        ),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.UniqueConstraint(
                condition=models.Q(("closed_at", None)), fields=("operation",), name="review_open_once_per_operation"
            ),
        ),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.UniqueConstraint(fields=("operation", "run"), name="review_once_per_run"),
        ),
        migrations.RunPython(RESOLUTIONS.install, RESOLUTIONS.remove),
    ]
