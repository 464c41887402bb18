"""Signing in and out."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _

from jobs.views.landing import page_at_or_above


class SignIn(LoginView):
    """The sign-in page. Returns to `next` when that is a page of ours; `lost` says that a click had no effect."""

    template_name = "login_page.html"
    redirect_authenticated_user = True

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        address = super().get_redirect_url()
        page = page_at_or_above(address) if address else ""
        # The root is what one asks for who wants no page in particular.
        return "" if page == "/" else page

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        if self._lost_act:
            messages.warning(
                self.request,
                _(
                    "Nothing was done. You were signed out before your click arrived, and what you typed was not kept. "
                    "Please choose again."
                ),
            )
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {
            "form": kwargs.get("form") or self.get_form(),
            "next": self.get_redirect_url(),
            "lost_act": self._lost_act,
            "signed_out": "signed_out" in self.request.GET,
        }

    @property
    def _lost_act(self) -> bool:
        return "lost" in self.request.POST or "lost" in self.request.GET


# Who is signed out already must not be asked to sign in before signing out.
@method_decorator(login_not_required, name="dispatch")
class SignOut(LogoutView):
    """Ends the session, by POST only."""

    def get_success_url(self) -> str:
        return f"{reverse('jobs:login')}?signed_out=1"
