"""Who is asking."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest


def signed_in(request: HttpRequest) -> User:
    """The account behind the request. Views behind the sign-in middleware always have one; raises otherwise."""
    user = request.user
    if not isinstance(user, User):
        raise PermissionDenied
    return user
