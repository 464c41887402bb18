"""The addresses of the exports, below /exports/."""

from __future__ import annotations

from django.urls import path

from exports import views

app_name = "exports"

urlpatterns = [
    path("", views.exports, name="exports"),
    path("<int:export_id>/", views.export, name="export"),
    path("<int:export_id>/file/", views.file, name="file"),
]
