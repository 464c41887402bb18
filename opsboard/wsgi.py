"""The WSGI application."""

from __future__ import annotations

import os

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

from opsboard.connections import require_connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsboard.settings")

# The start hooks that refuse an open bind live in that file; without it gunicorn would listen wherever it was told.
if os.environ.get("SERVER_SOFTWARE", "").startswith("gunicorn") and "OPSBOARD_BIND_CHECKED" not in os.environ:
    raise ImproperlyConfigured("Start it with: gunicorn -c opsboard/gunicorn_conf.py opsboard.wsgi")

require_connections(settings.OPSBOARD_CONNECTIONS)

application = get_wsgi_application()
