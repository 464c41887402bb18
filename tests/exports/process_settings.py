"""The product's settings for processes beside the tests; mails go to files, where they can be counted."""

from __future__ import annotations

import os
from pathlib import Path

from opsboard.settings import *  # noqa: F403  # the product's settings, all of them, then what differs

EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
EMAIL_FILE_PATH = Path(os.environ["EXPORTS_MAILS"])
# Found without collectstatic.
STORAGES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
