"""P22 with exports: SQLite under workers, observer, web, a browser that polls, and a shell that holds the lock.

EXPORTS_AT_ONCE=300 takes the number of the case, which is more than each run of the suite needs.
"""

from __future__ import annotations

import os
import threading
import time

import pytest
from django.db import connection, transaction

from exports.models import Export
from exports.requesting import request_export
from jobs.models import Effect, Operation
from tests.exports.processes import IN_THE_END, a_site, queues_of
from tests.exports.shop import a_person, outcomes, stock
from tests.support import database
from tests.support.real_rq import wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="it is about SQLite"),
]
AT_ONCE = int(os.environ.get("EXPORTS_AT_ONCE", "40"))
WORKERS = 4
SECONDS = 60 + 6 * AT_ONCE


class Beside(threading.Thread):
    """Something that is done again and again until the end; what went wrong there is told by `close`."""

    def __init__(self, do, pause):
        super().__init__()
        self._do, self._pause = do, pause
        self._over, self._error = threading.Event(), None
        self.start()

    def run(self):
        try:
            self._do()
            while not self._over.wait(self._pause):
                self._do()
        except Exception as error:
            self._error = error
        finally:
            connection.close()

    def close(self):
        self._over.set()
        self.join()
        if self._error:
            raise self._error


def hold_the_lock():
    with transaction.atomic():
        Operation.objects.filter(pk=0).update(version=0)
        time.sleep(3)


class Poller:
    """A browser that asks for an export, and then looks again and again."""

    def __init__(self, site, person):
        self._site, self._browser, self.statuses = site, site.browser_of(person), set()
        wish = self._browser.submit(site.port, "/exports/", "/exports/", period="2025")
        assert wish.status == 303
        self._pages = ["/exports/", *(f"/exports/{one.pk}/" for one in Export.objects.filter(owner=person))]

    def __call__(self):
        for page in self._pages:
            self.statuses.add(self._site.look(self._browser, page).status)


def at_rest():
    over = Operation.objects.filter(status__in=IN_THE_END).count()
    return over == Operation.objects.count() == 2 * AT_ONCE


def test_p22_nobody_is_told_of_a_locked_database_and_each_effect_has_its_row(tmp_path):
    stock(50)
    people = [a_person(f"clara-{number}") for number in range(AT_ONCE)]
    # The rest is as it is shipped.
    with a_site(tmp_path / "site", database.url(), OPSBOARD_QUEUE_GRACE_SECONDS="60") as site:
        site.web()
        site.observer()
        for _worker in range(WORKERS):
            site.worker()
        poller = Poller(site, people[0])
        beside = [Beside(hold_the_lock, 4), Beside(poller, 0.1)]
        try:
            with queues_of(site):
                for person in people[1:]:
                    request_export(person, "2025", "")
            wait_until(at_rest, "all is at rest", SECONDS)
        finally:
            for one in beside:
                one.close()
        said = {one.said.name for one in site.services if "locked" in one.said.read_text()}
        assert (poller.statuses, said) == ({200}, set())

        ends = {(one.status, *outcomes(one)) for one in Operation.objects.all()}
        assert ends == {("completed", "completed")}
        assert set(Effect.objects.values_list("status", flat=True)) == {"completed"}
        assert Effect.objects.count() == 3 * AT_ONCE
        exports = list(Export.objects.all())
        assert site.names() == sorted(f"export-{one.pk}.csv" for one in exports)
        assert {site.mails_about(one.pk) for one in exports} == {1}
