"""The site around the jobs app: its checks, and the groups that people are put into."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps
from django.core.checks import Tags, register
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class OpsboardConfig(AppConfig):
    name = "opsboard"
    verbose_name = _("Site")

    def ready(self) -> None:
        from opsboard.checks import check_access
        from opsboard.mail import check_mail

        register(check_access, Tags.security)
        register(check_mail, Tags.security)
        post_migrate.connect(_make_groups, sender=apps.get_app_config("opsboard_jobs"))


def _make_groups(using: str, **kwargs: Any) -> None:
    from jobs.first_access import ensure_groups

    ensure_groups(using)
