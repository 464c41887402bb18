from __future__ import annotations

import uuid

import django.db.models.deletion
from django.db import migrations, models

from jobs.migrations._append_only import ATTEMPTS, DELIVERIES, EFFECTS, EVENTS


class Migration(migrations.Migration):
    dependencies = [
        ("opsboard_jobs", "0004_failures_and_reviews"),
    ]

    operations = [
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("fence", models.PositiveIntegerField()),
                ("job_id", models.CharField(max_length=512)),
                ("execution_id", models.CharField(blank=True, max_length=64)),
                ("worker_name", models.CharField(blank=True, max_length=200)),
                ("started_at", models.DateTimeField()),
                ("lease_until", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("completed", "completed"),
                            ("failed", "failed"),
                            ("retrying", "retrying"),
                            ("unknown", "unknown"),
                            ("skipped_duplicate", "skipped_duplicate"),
                            ("refused", "refused"),
                            ("cancelled", "cancelled"),
                            ("lost", "lost"),
                            ("superseded", "superseded"),
                        ],
                        max_length=20,
                    ),
                ),
                ("decision_code", models.CharField(blank=True, max_length=64)),
                ("error_kind", models.CharField(blank=True, max_length=16)),
                ("error_class", models.CharField(blank=True, max_length=200)),
                ("error_line", models.CharField(blank=True, max_length=400)),
                ("death_proof", models.CharField(blank=True, max_length=64)),
                ("host", models.CharField(blank=True, max_length=255)),
                ("boot_id", models.CharField(blank=True, max_length=64)),
                ("pid_namespace", models.CharField(blank=True, max_length=32)),
                ("pid", models.PositiveIntegerField(null=True)),
                ("process_started", models.CharField(blank=True, max_length=32)),
            ],
            options={
                "ordering": ["started_at", "id"],
                "default_permissions": (),
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("connection", models.CharField(max_length=64)),
                ("queue", models.CharField(max_length=512)),
                ("job_id", models.CharField(max_length=512)),
                (
                    "cause",
                    models.CharField(
                        choices=[
                            ("submit", "it was submitted"),
                            ("delay", "it was enqueued by its code"),
                            ("never_queued", "it was accepted and never queued"),
                            ("lost", "the job store lost it"),
                            ("retry", "its retry was due"),
                            ("takeover", "its worker died"),
                            ("operator", "somebody asked for it"),
                            ("review", "its review was answered"),
                        ],
                        max_length=16,
                    ),
                ),
                ("at", models.DateTimeField()),
            ],
            options={
                "ordering": ["at", "id"],
                "default_permissions": (),
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="Effect",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("item", models.CharField(blank=True, max_length=200)),
                (
                    "idempotency",
                    models.CharField(
                        choices=[
                            ("repeatable", "repeatable"),
                            ("keyed", "keyed"),
                            ("checkable", "checkable"),
                            ("unsafe", "unsafe"),
                            ("undeclared", "undeclared"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("begun", "begun"),
                            ("completed", "completed"),
                            ("released", "released"),
                            ("unknown", "unknown"),
                            ("abandoned", "abandoned"),
                            ("reversed", "reversed"),
                        ],
                        max_length=16,
                    ),
                ),
                ("idempotency_key", models.CharField(blank=True, max_length=255)),
                ("request_fingerprint", models.CharField(blank=True, max_length=64)),
                ("key_valid_until", models.DateTimeField(blank=True, null=True)),
                ("settles_in_seconds", models.FloatField(blank=True, null=True)),
                ("has_probe", models.BooleanField(default=False)),
                ("probes_made", models.PositiveIntegerField(default=0)),
                ("probe_text", models.CharField(blank=True, max_length=400)),
                ("begun_at", models.DateTimeField(blank=True, null=True)),
                ("first_begun_at", models.DateTimeField(blank=True, null=True)),
                ("completed_at", models.DateTimeField(blank=True, null=True)),
                ("external_id", models.CharField(blank=True, max_length=255)),
                ("result", models.JSONField(blank=True, null=True)),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("job", "the job"),
                            ("probe", "a check with the other side"),
                            ("human", "a person"),
                            ("late_evidence", "late evidence"),
                        ],
                        default="job",
                        max_length=16,
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "default_permissions": (),
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="OperationEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("dedup", "a repeat was skipped"),
                            ("refused", "a delivery was turned away"),
                            ("late_evidence", "late evidence"),
                            ("contradiction", "contradicting evidence"),
                            ("released", "proved not to have happened"),
                            ("probed", "the other side was asked"),
                            ("taken_over", "taken over"),
                            ("cancel_requested", "its cancelling was asked for"),
                            ("decided", "decided"),
                        ],
                        max_length=20,
                    ),
                ),
                ("code", models.CharField(blank=True, max_length=64)),
                ("text", models.TextField(blank=True)),
                ("at", models.DateTimeField()),
            ],
            options={
                "ordering": ["at", "id"],
                "default_permissions": (),
                "base_manager_name": "objects",
            },
        ),
        migrations.AlterModelOptions(
            name="operation", options={"base_manager_name": "objects", "default_permissions": ()}
        ),
        migrations.AlterModelOptions(
            name="review",
            options={
                "base_manager_name": "objects",
                "default_permissions": (),
                "ordering": ["opened_at", "id"],
            },
        ),
        migrations.AlterModelOptions(
            name="resolution",
            options={
                "base_manager_name": "objects",
                "default_permissions": (),
                "ordering": ["created_at", "id"],
            },
        ),
        migrations.AddField(
            model_name="operation",
            name="args",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="operation",
            name="args_fingerprint",
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name="operation",
            name="attempts_used",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="operation",
            name="cancel_requested_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="operation",
            name="current_attempt",
            field=models.UUIDField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="operation",
            name="declared_effects",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="operation",
            name="dispatch",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="operation",
            name="dispatched_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="operation",
            name="due_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="operation",
            name="entity",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddField(
            model_name="operation",
            name="fence",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="operation",
            name="last_error",
            field=models.CharField(blank=True, max_length=16),
        ),
        migrations.AddField(
            model_name="operation",
            name="lease_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="operation",
            name="lost_attempts",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="operation",
            name="max_attempts",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="operation",
            name="next_attempt_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="operation",
            name="origin",
            field=models.CharField(
                choices=[("plain", "a plain job"), ("submitted", "submitted"), ("adopted", "adopted")],
                default="plain",
                max_length=16,
            ),
        ),
        migrations.AddField(
            model_name="operation",
            name="policy",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="operation",
            name="version",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AlterField(
            model_name="resolution",
            name="verdict",
            field=models.CharField(
                choices=[
                    ("happened", "it happened"),
                    ("did_not_happen", "it did not happen"),
                    ("abandon", "abandoned"),
                    ("snooze", "put off"),
                    ("probe_again", "to be checked again"),
                    ("reversed", "it happened, and was undone"),
                ],
                max_length=16,
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="operation_by_due"
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(fields=["status", "created_at"], name="operation_by_status"),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(("entity", ""), _negated=True), fields=["entity"], name="operation_by_entity"
            ),
        ),
        migrations.AddField(
            model_name="attempt",
            name="operation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="attempts", to="opsboard_jobs.operation"
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="attempt",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="reviews",
                to="opsboard_jobs.attempt",
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="operation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="deliveries", to="opsboard_jobs.operation"
            ),
        ),
        migrations.AddField(
            model_name="effect",
            name="begun_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="effects",
                to="opsboard_jobs.attempt",
            ),
        ),
        migrations.AddField(
            model_name="effect",
            name="operation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="effects", to="opsboard_jobs.operation"
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="effect",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="reviews",
                to="opsboard_jobs.effect",
            ),
        ),
        migrations.AddField(
            model_name="operationevent",
            name="attempt",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="events",
                to="opsboard_jobs.attempt",
            ),
        ),
        migrations.AddField(
            model_name="operationevent",
            name="effect",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="events",
                to="opsboard_jobs.effect",
            ),
        ),
        migrations.AddField(
            model_name="operationevent",
            name="operation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="events", to="opsboard_jobs.operation"
            ),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(fields=["operation", "started_at"], name="attempt_by_operation"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["connection", "queue", "job_id"], name="delivery_by_job"),
        ),
        migrations.AddConstraint(
            model_name="effect",
            constraint=models.UniqueConstraint(fields=("operation", "name", "item"), name="effect_once_per_operation"),
        ),
        migrations.AddIndex(
            model_name="operationevent",
            index=models.Index(fields=["kind", "at"], name="event_by_kind"),
        ),
        *(migrations.RunPython(kept.install, kept.remove) for kept in (DELIVERIES, EVENTS, ATTEMPTS, EFFECTS)),
    ]
