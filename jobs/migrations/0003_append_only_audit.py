from __future__ import annotations

from django.db import migrations

from jobs.migrations import _append_only


class Migration(migrations.Migration):
    dependencies = [
        ("opsboard_jobs", "0002_batches_and_runbooks"),
    ]

    operations = [
        migrations.RunPython(_append_only.install, _append_only.remove),
    ]
