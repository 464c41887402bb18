from __future__ import annotations

from django.apps import AppConfig
from django.core.checks import Tags, register
from django.utils.translation import gettext_lazy as _


class JobsConfig(AppConfig):
    """The dashboard and the job-safety layer; installed into other projects under the label `opsboard_jobs`."""

    name = "jobs"
    label = "opsboard_jobs"
    verbose_name = _("Background jobs")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Its module notes a fork: a worker that has used the database before it forks is told apart from a fresh one.
        import jobs.safety.setup  # noqa: F401 - for what it registers
        from jobs.checks import check_encoding, check_layer

        register(check_layer)
        register(check_encoding, Tags.database)
