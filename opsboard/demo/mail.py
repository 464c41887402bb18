"""The demo's mail server: a folder of files, which the process that sends the very first mail does not outlive."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.mail import EmailMessage

from opsboard.demo.tasks import die_once
from opsboard.mail_folder import FolderBackend


class DemoBackend(FolderBackend):
    """Takes the first mail, and gets its sender killed before he could hear that it was taken."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        taken = super().send_messages(email_messages)
        die_once("first-mail")
        return taken
