from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("opsboard_jobs", "0005_job_safety"),
    ]

    operations = [
        migrations.AddField(
            model_name="operation",
            name="progress_done",
            field=models.PositiveBigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="operation",
            name="progress_total",
            field=models.PositiveBigIntegerField(blank=True, null=True),
        ),
    ]
