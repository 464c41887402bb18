"""How the states of exports are shown: word, colour and icon, like every other state (jobs.domain.words)."""

from __future__ import annotations

from collections.abc import Mapping

from exports.mail_states import MailState
from exports.states import ExportState
from jobs.domain.words import Look, StateWord, gettext_noop

_ = gettext_noop

EXPORT_WORDS: Mapping[ExportState, StateWord] = {
    ExportState.ACCEPTED: StateWord(_("accepted"), Look.WAITING, "waiting"),
    ExportState.RUNNING: StateWord(_("running"), Look.RUNNING, "running"),
    ExportState.READY: StateWord(_("ready"), Look.DONE, "done"),
    ExportState.FAILED: StateWord(_("failed"), Look.FAILED, "failed"),
    ExportState.EXPIRED: StateWord(_("expired"), Look.SKIPPED, "gone"),
}
MAIL_WORDS: Mapping[MailState, StateWord] = {
    MailState.ON_ITS_WAY: StateWord(_("on its way"), Look.WAITING, "waiting"),
    MailState.SENT: StateWord(_("sent"), Look.DONE, "done"),
    MailState.FAILED: StateWord(_("could not be sent"), Look.FAILED, "failed"),
    MailState.UNKNOWN: StateWord(_("may have been sent"), Look.REVIEW, "review"),
}
"""There is nothing to say of a mail that is not due, or that nobody could be sent."""
