"""What the header of every page says: where this is, who may reach it, who is looking."""

from __future__ import annotations

from functools import cached_property
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

from exports.permissions import may_export
from jobs.permissions import Permission, may
from opsboard.access.reading import PROXIED


class Header:
    """Read by templates; nothing is asked of the database before a template asks for it."""

    environment: str = settings.OPSBOARD_ENVIRONMENT
    environment_colour: str = settings.OPSBOARD_ENVIRONMENT_COLOUR

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    @property
    def read_only(self) -> bool:
        return bool(settings.OPSBOARD_READ_ONLY)

    @property
    def demo(self) -> bool:
        return bool(settings.OPSBOARD_DEMO)

    @property
    def exposure(self) -> str:
        """Another port in the browser's address than the one we listen on can only be a tunnel's, in local mode."""
        if settings.OPSBOARD_MODE == PROXIED:
            return _("Behind a proxy: %(host)s") % {"host": self._request.get_host()}
        asked = urlsplit(f"//{self._request.get_host()}").port or 80
        if str(asked) == self._request.META.get("SERVER_PORT"):
            return _("This machine or an ssh tunnel only")
        return _("Through an ssh tunnel")

    @cached_property
    def role(self) -> str:
        user = self._request.user
        if not user.is_authenticated:
            return _("Signed out")
        if user.is_superuser:
            return _("Superuser")
        names = user.groups.order_by("name").values_list("name", flat=True)
        return ", ".join(names) or _("No group")

    @cached_property
    def may_manage_access(self) -> bool:
        return may(self._request.user, Permission.MANAGE_ACCESS)

    @cached_property
    def may_view_audit(self) -> bool:
        return may(self._request.user, Permission.VIEW_AUDIT)

    @cached_property
    def may_change_jobtype(self) -> bool:
        return may(self._request.user, Permission.CHANGE_JOBTYPE)

    @cached_property
    def may_export(self) -> bool:
        return bool(settings.OPSBOARD_EXPORTS) and may_export(self._request.user)


def header(request: HttpRequest) -> dict[str, Header]:
    """Context processor: `header` in every template that is rendered with a request."""
    return {"header": Header(request)}
