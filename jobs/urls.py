"""The addresses of the dashboard."""

from __future__ import annotations

from django.urls import path

from jobs.views import access, session

app_name = "jobs"

urlpatterns = [
    path("login/", session.SignIn.as_view(), name="login"),
    path("logout/", session.SignOut.as_view(), name="logout"),
    path("access/", access.access_page, name="access"),
    path("access/give/", access.give, name="access-give"),
    path("access/take/", access.take, name="access-take"),
]
