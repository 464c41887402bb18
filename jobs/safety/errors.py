"""What job code raises to say how something failed, and what the layer raises to say why it will not go on."""

from __future__ import annotations

from datetime import timedelta


class PermanentError(Exception):
    """The data is wrong: repeating does not help. Inside an effect: the other side refused it, and did nothing."""


class TransientError(Exception):
    """It may work later. Inside an effect that says nothing of whether it happened.

    `retry_after`: not to be tried again before so long (a timedelta, or seconds).
    """

    def __init__(self, message: str = "", *, retry_after: timedelta | float | None = None) -> None:
        super().__init__(message)
        self.retry_after = _duration(retry_after)


class NotPerformed(TransientError):
    """The call was provably not carried out: no connection, refused before it was read, turned away for its rate."""


class OutcomeUnknown(Exception):
    """The call was sent and nobody knows whether it took effect: no answer, a broken one, an error after acting."""


class SafetyError(Exception):
    """The layer can't do what was asked of it; the message is one sentence with the remedy."""


class MisuseError(SafetyError):
    """The code uses the layer in a way that would make its promises void."""


class SetupError(SafetyError):
    """Something is missing in the settings or in the database."""


class ArgumentsRefused(SafetyError):
    """The call holds what is not an id: arguments are stored and shown, ids are cheap and safe."""


class ArgumentsDiffer(SafetyError):
    """This operation id already belongs to a call with other arguments (protocol, R3)."""


class RefusedDelivery(SafetyError):
    """The operation may not run now, and RQ is to file the delivery as failed. `code`: of the decision."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class UnfinishedEffect(SafetyError):
    """The job returned while an effect was begun and not completed (protocol, C19)."""


class ControlFlow(BaseException):
    """Ends the job's function from within. No Exception, so that `except Exception` in job code lets it pass."""


class LeaseLost(ControlFlow):
    """Somebody else has taken the operation over, or too little time is left: nothing more may be begun."""


class CancelledByOperator(ControlFlow):
    """An operator asked for the operation to be cancelled, and nothing has left the system yet."""


class StopRequested(ControlFlow):
    """The job ends early, and is taken up again; where should_stop() has said so, this counts as no failed attempt."""


def _duration(value: timedelta | float | None) -> timedelta | None:
    return value if value is None or isinstance(value, timedelta) else timedelta(seconds=value)
