"""A browser in a world where the observer is fast."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from django.test import Client

from jobs.broker.errors import BrokerUnavailable
from tests.support.observer import watch
from tests.support.pages import at


class WatchedClient(Client):
    """What failed is on record by the time that the failed list is opened, as far as the store answers."""

    def get(self, path: Any = "", *arguments: Any, **options: Any) -> Any:
        if urlsplit(path).path == at("failed"):
            with suppress(BrokerUnavailable):
                watch()
        return super().get(path, *arguments, **options)
