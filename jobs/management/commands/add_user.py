"""`manage.py add_user NAME --group Operators`: an account with a password that is printed once."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils.translation import gettext as _

from jobs.first_access import new_password
from jobs.management.groups import group_named


class Command(BaseCommand):
    help = "Makes an account and prints its password once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--group", action="append", default=[], help="may be given several times")
        parser.add_argument(
            "--email", default="", help="where mails for this person go, such as that an export is ready"
        )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        groups = [group_named(name) for name in options["group"]]
        password = new_password()
        user = get_user_model()(username=options["name"], email=options["email"])
        user.set_password(password)
        try:
            user.full_clean()
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        user.save()
        user.groups.set(groups)
        self.stdout.write(_("Account %(name)s, password %(word)s (not shown again).")
                          % {"name": options["name"], "word": password})  # fmt: skip
