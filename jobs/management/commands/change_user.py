"""`manage.py change_user NAME --join Exporters --email NAME@HOST`: groups and address of an account that is there."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils.translation import gettext as _

from jobs.management.groups import group_named


class Command(BaseCommand):
    help = "Puts an account into groups or takes it out of some, and changes its address for mails."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--join", action="append", default=[], metavar="GROUP", help="may be given several times")
        parser.add_argument("--leave", action="append", default=[], metavar="GROUP", help="may be given several times")
        parser.add_argument("--email", help="where mails for this person go; an empty one for nowhere")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        user = _account(options["name"])
        joined, left = ([group_named(name) for name in options[which]] for which in ("join", "leave"))
        if options["email"] is not None:
            _give_address(user, options["email"])
        user.groups.add(*joined)
        user.groups.remove(*left)
        names = ", ".join(user.groups.order_by("name").values_list("name", flat=True)) or _("none")
        said = {"name": options["name"], "groups": names, "address": user.email or _("none")}
        self.stdout.write(_("Account %(name)s: groups %(groups)s; address %(address)s.") % said)


def _account(name: str) -> Any:
    model = get_user_model()
    found = model._default_manager.filter(**{model.USERNAME_FIELD: name}).first()
    if found is None:
        raise CommandError(f"There is no account {name}; make one with: manage.py add_user {name}")
    return found


def _give_address(user: Any, address: str) -> None:
    user.email = address
    try:
        user.clean_fields(exclude=[one.name for one in user._meta.fields if one.name != "email"])
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    user.save(update_fields=["email"])
