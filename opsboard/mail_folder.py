"""Mails without a mail server, as in the demo: each in a file of its own, to be read by whoever started it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

from jobs.safety.errors import NotPerformed


class FolderBackend(BaseEmailBackend):
    """Puts each mail into a file of its own, named by the time and its Message-ID, for its owner's eyes only."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Write them, each whole or not at all. Raises NotPerformed for one that could not be written."""
        for message in email_messages:
            try:
                self._write(message)
            except OSError as error:
                # The folder knows nothing of it: the renaming is the last that can fail.
                raise NotPerformed(f"The mail was not put into its folder: {type(error).__name__}.") from None
        return len(email_messages)

    def _write(self, message: EmailMessage) -> None:
        folder = Path(settings.EMAIL_FILE_PATH)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = message.message()
        named = re.sub(r"[^A-Za-z0-9.-]", "", str(content["Message-ID"]).partition("@")[0])
        path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}.{named}.eml"
        draft = path.with_suffix(".part")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content.as_bytes())
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
