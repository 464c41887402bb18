from __future__ import annotations

from django.db import migrations

from jobs.migrations._append_only import AUDIT


class Migration(migrations.Migration):
    dependencies = [
        ("opsboard_jobs", "0002_batches_and_runbooks"),
    ]

    operations = [
        migrations.RunPython(AUDIT.install, AUDIT.remove),
    ]
