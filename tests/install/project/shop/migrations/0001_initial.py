from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = []
    operations = [
        migrations.CreateModel(
            name="Letter",
            fields=[
                ("id", models.BigAutoField(primary_key=True)),
                ("invoice", models.CharField(max_length=100)),
                ("connection", models.CharField(max_length=100)),
                ("worker", models.IntegerField()),
            ],
        ),
    ]
