"""What can go wrong between us and the job store, in words that name no host and no secret."""

from __future__ import annotations


class BrokerUnavailable(Exception):
    """The job store of a connection gave no answer. Nothing is known about jobs until it does.

    Attributes: `connection` is our name of the store, never its address; `cause` a plain word or two.
    """

    def __init__(self, connection: str, cause: str) -> None:
        super().__init__(f"The job store “{connection}” can't be reached: {cause}.")
        self.connection = connection
        self.cause = cause


class ScanNotAllowed(BrokerUnavailable):
    """The account that reads may not go through the lists of failed jobs; the text names the remedy."""

    def __init__(self, connection: str) -> None:
        super().__init__(connection, "its account for reading lacks +scan and +zscan; see deploy/redis-acl.conf")


class UnknownConnection(Exception):
    """No connection of that name is configured; name it in OPSBOARD_REDIS_<NAME>_URL."""


class WriteOnReadPath(Exception):
    """A command that is not a plain read was sent on the reading client. A bug in our code, never user input."""
