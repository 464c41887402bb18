"""What the trials share: the services, somebody who wants an export, and what is to be seen of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from exports.models import Export
from tests.exports.processes import Service, Site, a_site
from tests.exports.shop import a_person, outcomes, read, stock
from tests.support.real_rq import wait_until
from tests.support.web import Browser

ORDERS, ROWS_PER_SECOND = 9000, 1500
"""So that an export takes six seconds, in nine stages: it looks once a second whether it is to stop."""
SECONDS = 60.0
"""Time enough for anything that is waited for."""


@dataclass
class Scene:
    """A site at work, and the browser of a person who may export. `say`: what is done and seen, for who watches."""

    site: Site
    person: User
    browser: Browser
    say: Callable[[str], None]
    worker: Service = field(init=False)
    web: Service = field(init=False)
    observer: Service = field(init=False)

    def start_worker_again(self) -> None:
        """After its end. There is nothing to be met in the middle any more, so it writes as fast as it can."""
        self.worker = self.site.worker(OPSBOARD_EXPORTS_ROWS_PER_SECOND="0")
        self.say("The worker is started again, and now writes as fast as it can.")

    def ask(self, period: str) -> int:
        """Ask for an export as a person does, by the form on the page; its id."""
        answer = self.browser.submit(self.site.port, "/exports/", "/exports/", period=period)
        assert answer.status == 303, f"the wish is answered with {answer.status}"
        export_id = int(Export.objects.filter(owner=self.person).latest("pk").pk)
        self.say(f"{self.person.username} asks for the export of {period}: it is accepted under number {export_id}.")
        return export_id

    def wait_for_rows(self, export_id: int, count: int) -> int:
        """How many rows are written, once these are; it is still being made then."""
        operation = wait_until(lambda: self._at_least(export_id, count), f"{count} rows are written", SECONDS)
        assert operation.progress_done < ORDERS, "it was made before anything could be done to it"
        self.say(f"It is being made: {operation.progress_done:,} of {operation.progress_total:,} rows.")
        return int(operation.progress_done)

    def wait_for(self, export_id: int, status: str) -> Export:
        """The export, once its page says so; at its end once the attempt has ended too, a moment later."""
        wait_until(lambda: self.page(export_id)["status"] == status, f"its page says {status}", SECONDS)
        self.say(f"Its page says: {status}.")
        if status in ("ready", "failed"):
            wait_until(lambda: all(self.outcomes(export_id)), "its attempt ends", SECONDS)
        return read(export_id)

    def page(self, export_id: int) -> dict[str, Any]:
        """What its owner is told, asked over HTTP with his session."""
        connection = HTTPConnection("127.0.0.1", self.site.port, timeout=15)
        cookies = "; ".join(f"{name}={value}" for name, value in self.browser.cookies.items())
        headers = {"Host": f"localhost:{self.site.port}", "Cookie": cookies, "Accept": "application/json"}
        connection.request("GET", f"/exports/{export_id}/", headers=headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        assert response.status == 200, f"the page of the export answers {response.status}"
        told: dict[str, Any] = json.loads(text)
        return told

    def require_whole(self, export_id: int) -> None:
        """One file, whole, nothing beside it, one mail, and the record agrees."""
        export = read(export_id)
        names = [name for name in self.site.names() if name.lstrip(".").startswith(f"export-{export_id}.")]
        assert names == [f"export-{export_id}.csv"], f"in the folder are {names}"
        content = (self.site.files / names[0]).read_bytes()
        assert (len(content), sha256(content).hexdigest()) == (export.size, export.sha256), "the record is of another"
        rows = content.count(b"\r\n") - 1
        assert rows == export.rows == ORDERS, f"it has {rows:,} rows, and {export.rows:,} are on record"
        downloaded = self.browser.get(self.site.port, f"/exports/{export_id}/file/")
        assert downloaded.text.encode() == content, "what is downloaded is something else"
        wait_until(lambda: self._mail_is_over(export_id), "the mail is sent", SECONDS)
        assert self.site.mails_about(export_id) == 1, f"{self.site.mails_about(export_id)} mails were sent"
        self.say(f"One file of {export.rows:,} rows, downloaded and whole; nothing lies beside it; one mail was sent.")

    def outcomes(self, export_id: int) -> list[str]:
        """How each attempt ended; '' for one that goes on."""
        return outcomes(read(export_id).operation)

    def _at_least(self, export_id: int, count: int) -> Any:
        operation = read(export_id).operation
        return operation if operation is not None and (operation.progress_done or 0) >= count else None

    def _mail_is_over(self, export_id: int) -> bool:
        operation = read(export_id).mail_operation
        return operation is not None and operation.status == "completed"


@contextmanager
def a_scene(folder: Path, database_url: str, say: Callable[[str], None]) -> Iterator[Scene]:
    """Web, worker and observer at work, orders to export, and a person signed in."""
    person = a_person()
    stock(ORDERS)
    with a_site(folder, database_url, OPSBOARD_EXPORTS_ROWS_PER_SECOND=str(ROWS_PER_SECOND)) as site:
        scene = Scene(site, person, site.browser_of(person), say)
        scene.worker, scene.observer, scene.web = site.worker(), site.observer(), site.web()
        say(f"Web, worker and observer run; of {ORDERS:,} orders {ROWS_PER_SECOND:,} are written a second.")
        yield scene


class Told:
    """Says a line with the time since the beginning."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write, self._begun = write, time.monotonic()

    def __call__(self, text: str) -> None:
        self._write(f"{time.monotonic() - self._begun:6.1f} s  {text}\n")
