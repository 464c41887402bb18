"""`manage.py remove_expired_exports`: removes the files of exports whose time is over. For a timer, each hour or so."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from exports.expiry import remove_expired, remove_left_overs

AT_MOST = 10_000
"""So many of each kind in one call; the next one goes on."""


class Command(BaseCommand):
    help = "Removes the files of exports whose time is over, and files that no export needs."

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        try:
            done = [remove_expired(now, AT_MOST), remove_left_overs(now, AT_MOST)]
        except OSError as error:
            raise CommandError(f"The folder of the exports can't be used: {error.strerror}.") from None
        removed, failed = sum(one.removed for one in done), sum(one.failed for one in done)
        self.stdout.write(ngettext("%(count)d file removed.", "%(count)d files removed.", removed) % {"count": removed})
        if failed:
            raise CommandError(
                _("%(count)d could not be removed, as the log says; the next call tries again.") % {"count": failed}
            )
