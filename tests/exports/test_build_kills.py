"""kill -9 at every point of an export's build: one file, whole, one mail, and the export ends ready."""

from __future__ import annotations

import threading
from hashlib import sha256
from io import BytesIO

import pytest
from redis import Redis

from exports.models import Export, Order
from exports.requesting import request_export
from exports.writing import COLUMNS, Hashed, write_rows
from tests.exports.harm import has_happened, plan
from tests.exports.processes import IN_THE_END, a_harmed_site, queues_of
from tests.exports.shop import a_person, outcomes, read, stock
from tests.kills.hands import LONG_AGO
from tests.support import database
from tests.support.real_rq import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
TABLE = """
point                | how the attempts end
before_claim         | completed
after_claim          | lost completed
after_intent         | lost completed
file_opened          | lost completed
stage_1              | lost completed
stage_2              | lost completed
stage_3              | lost completed
file_written         | lost completed
before_rename        | lost completed
after_rename         | lost completed
after_call           | lost completed
after_complete       | lost completed
after_accept         | lost completed
before_atomic_commit | lost completed
before_push          | lost
after_push           | lost
before_finish        | lost
after_finish         | completed
"""
"""In write order. after_accept: the mail is submitted, in the transaction of *ready*; before_push: that is committed.

From there on nothing is left to be done, so the observer completes it without another attempt.
"""
ROWS = [tuple(part.strip() for part in line.split("|")) for line in TABLE.strip().splitlines()[1:]]
DEATHS = ("kill_horse", "kill_both")
WORKERS = 4
ORDERS = 2500
SECONDS = 180


class Folder:
    """Watches the folder of files: `partial` are names that a file had before it was whole."""

    def __init__(self, folder, size):
        self.partial, self._folder, self._size = set(), folder, size
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def close(self):
        self._over.set()
        self._thread.join()

    def _watch(self):
        while not self._over.wait(0.005):
            files = [path for path in self._folder.iterdir() if not path.name.startswith(".")]
            self.partial |= {path.name for path in files if path.stat().st_size != self._size}


@pytest.fixture
def site(tmp_path):
    with a_harmed_site(tmp_path, database.url()) as site:
        yield site


@pytest.fixture
def whole(db):
    """What each of the files has to hold."""
    stock(ORDERS)
    target = BytesIO()
    for _rows in write_rows(Hashed(target), Order.objects.order_by("placed_at").values_list(*COLUMNS)):
        pass
    return target.getvalue()


@pytest.fixture
def folder(site, whole):
    folder = Folder(site.files, len(whole))
    yield folder
    folder.close()


def lay_out(site, harms):
    """An export for each, asked for before there is a worker; by the harm that is to come to it."""
    found = {}
    with queues_of(site):
        for number, harm in enumerate(harms):
            # The same wish of the same person would be the same export.
            export = request_export(a_person(f"clara-{number}"), "2025", "").export
            plan(harm_of(site), export.pk, harm)
            found[harm] = export.pk
    return found


def harm_of(site):
    """Where it stands what is to happen to whom."""
    return site.folder.parent / "harm"


def run(site, exports):
    """Let workers live until all has come to rest; who is killed is replaced."""
    redis, workers = Redis.from_url(site.redis_url), []
    first_jobs = dict(Export.objects.values_list("pk", "operation__job_id"))
    site.observer()

    def is_over():
        workers[:] = [one for one in workers if one.is_running]
        workers.extend(site.worker() for _missing in range(WORKERS - len(workers)))
        for export in Export.objects.filter(pk__in=exports, operation__attempts=None):
            if has_happened(harm_of(site), export.pk):
                # The death of an attempt is proved by its process; of a run that was never claimed RQ's lease tells.
                let_lease_run_out(redis, first_jobs[export.pk])
        return at_rest(exports)

    wait_until(is_over, "all are at rest", SECONDS)


def let_lease_run_out(redis, job_id):
    """As if its worker had given no sign of life for long."""
    runs = [run for run in redis.zrange("rq:wip:exports", 0, -1) if run.startswith(f"{job_id}:".encode())]
    for run in runs:
        redis.zadd("rq:wip:exports", {run: LONG_AGO}, xx=True)
        redis.zadd(f"rq:executions:{job_id}", {run.rpartition(b":")[2]: LONG_AGO + 60}, xx=True)
        redis.delete(b"rq:execution:" + run)


def at_rest(exports):
    found = Export.objects.filter(pk__in=exports)
    over = found.filter(operation__status__in=IN_THE_END)
    mailed = over.filter(mail_operation__status__in=IN_THE_END)
    return mailed.count() == len(exports)


def test_a_build_that_is_killed_at_any_point_ends_as_the_table_says(site, whole, folder):
    expected = {f"{point}.{death}": ends for point, ends in ROWS for death in DEATHS}
    exports = lay_out(site, expected)
    run(site, exports.values())
    site.end()

    found = {harm: read(export_id) for harm, export_id in exports.items()}
    assert [harm for harm in found if not has_happened(harm_of(site), exports[harm])] == []
    assert {harm: " ".join(outcomes(export.operation)) for harm, export in found.items()} == expected
    assert {export.operation.status for export in found.values()} == {"completed"}

    told = {(export.rows, export.size, export.sha256) for export in found.values()}
    assert told == {(ORDERS, len(whole), sha256(whole).hexdigest())}
    assert site.names() == sorted(f"export-{pk}.csv" for pk in exports.values())
    assert {(site.files / name).read_bytes() for name in site.names()} == {whole}
    assert folder.partial == set()

    assert {export.mail_operation.status for export in found.values()} == {"completed"}
    assert {export.mail_operation.attempts.filter(number__gt=0).count() for export in found.values()} == {1}
    assert {site.mails_about(export.pk) for export in found.values()} == {1}
