"""The app of the exports, and the group of those who may ask for one."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class ExportsConfig(AppConfig):
    name = "exports"
    verbose_name = _("Exports")

    def ready(self) -> None:
        post_migrate.connect(_make_group, sender=self)


def _make_group(using: str, **kwargs: Any) -> None:
    from exports.permissions import ensure_group

    ensure_group(using)
