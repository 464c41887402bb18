"""kill -9 at every point of a mail: nobody gets a second one, and where it may have gone a person is asked."""

from __future__ import annotations

import sys

import pytest
from redis import Redis

from exports.mail_states import mail_state
from exports.models import Export
from exports.tasks import mail_export
from jobs.domain.verdicts import Verdict
from jobs.models import Attempt, Review
from opsboard.runner.processes import process
from tests.exports.harm import has_happened, plan
from tests.exports.laid import lay_ready
from tests.exports.mail_scene import mailing_to, read, say
from tests.exports.processes import IN_THE_END, a_harmed_site, kill, queues_of
from tests.exports.shop import a_person
from tests.exports.smtp_sink import smtp_sink
from tests.kills.hands import LONG_AGO
from tests.support import database
from tests.support.real_rq import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
TABLE = """
point          | mails | how the attempts end | state
before_claim   | 1     | completed            | sent
after_claim    | 1     | lost completed       | sent
after_intent   | 0     | lost                 | unknown
at RCPT        | 0     | lost                 | unknown
at DATA        | 0     | lost                 | unknown
at MESSAGE     | 1     | lost                 | unknown
after_call     | 1     | lost                 | unknown
after_complete | 1     | lost                 | sent
at QUIT        | 1     | lost                 | sent
before_finish  | 1     | lost                 | sent
after_finish   | 1     | completed            | sent
"""
"""In the order of the steps. `at`: the mail server has got that far, and its answer does not come.

Once the mail is on record only the final mark is missing, which the observer sets without another attempt.
"""
ROWS = [tuple(part.strip() for part in line.split("|")) for line in TABLE.strip().splitlines()[1:]]
DEATHS = ("kill_horse", "kill_both")
WORKERS = 3
WORKER = [sys.executable, "manage.py", "rqworker", "--verbosity", "0", "mail"]
SECONDS = 120


@pytest.fixture
def sink():
    with smtp_sink() as sink:
        yield sink


@pytest.fixture
def site(tmp_path, settings, sink):
    settings.OPSBOARD_EXPORTS_DIR = tmp_path / "site" / "exports"
    with a_harmed_site(tmp_path, database.url(), **mailing_to(sink)) as site:
        yield site


class Case:
    """A mail that is submitted, and what is to come to it: a point, and a death."""

    def __init__(self, number, point, death, site, sink):
        self.point, self.death, self._folder = point, death, site.folder.parent / "harm"
        owner = a_person(f"clara-{number}")
        self.address, self.export = owner.email, lay_ready(owner)
        self.export.mail_operation = mail_export.submit(self.export.pk)
        self.export.save()
        self.first_job = self.export.mail_operation.job_id
        self._halted = sink.halt(self.address, point.removeprefix("at ")) if point.startswith("at ") else None
        self._is_killed = self.is_answered = False
        if self._halted is None:
            plan(self._folder, self.export.pk, f"{point}.{death}", "mail_export")

    @property
    def has_happened(self):
        return self._is_killed or has_happened(self._folder, self.export.pk, "mail_export")

    def kill_if_halted(self):
        """The server has told that somebody waits for it: whoever that is dies."""
        if self._halted is None or self._is_killed or not self._halted.is_set():
            return
        pid = Attempt.objects.get(operation=self.export.mail_operation, outcome="").pid
        if self.death == "kill_both":
            # The worker first, or it would still put on record that its horse has died.
            kill(process(pid).parent)
        kill(pid)
        self._is_killed = True

    def found(self, sink):
        export = read(self.export)
        attempts = export.mail_operation.attempts.filter(number__gt=0).order_by("number")
        outcomes = " ".join(one.outcome for one in attempts)
        return str(sink.taken_for(self.address)), outcomes, mail_state(export).value


def go_on(site, cases):
    """Let workers live until all has come to rest; who is killed is replaced."""
    redis = Redis.from_url(site.redis_url)

    def is_over():
        living = [one for one in site.services[1:] if one.is_running]
        for _missing in range(WORKERS - len(living)):
            site.worker(WORKER)
        for case in cases:
            case.kill_if_halted()
            if case.has_happened and (case.point == "before_claim" or case.is_answered):
                let_lease_run_out(redis, case.first_job)
        ended = Export.objects.filter(mail_operation__status__in=IN_THE_END, mail_operation__due_at=None)
        return ended.count() == len(cases)

    wait_until(is_over, "all are at rest", SECONDS)
    redis.close()


def let_lease_run_out(redis, job_id):
    """As if its worker had given no sign of life for long.

    Of a run that was never claimed nothing else proves the death; and once its review is answered, an operation waits
    until RQ has no doubt either.
    """
    runs = [run for run in redis.zrange("rq:wip:mail", 0, -1) if run.startswith(f"{job_id}:".encode())]
    for run in runs:
        redis.zadd("rq:wip:mail", {run: LONG_AGO}, xx=True)
        redis.zadd(f"rq:executions:{job_id}", {run.rpartition(b":")[2]: LONG_AGO + 60}, xx=True)
        redis.delete(b"rq:execution:" + run)


def say_what_is_true(person, case, sink):
    """Somebody looks in the log of the mail server, and says what stands there."""
    review = Review.objects.get(operation=case.export.mail_operation, closed_at=None)
    verdict = Verdict.HAPPENED if sink.taken_for(case.address) else Verdict.DID_NOT_HAPPEN
    case.is_answered = say(person, verdict, review).is_done
    assert case.is_answered


def test_a_mail_that_is_killed_at_any_point_ends_as_the_table_says(site, sink, superuser):
    harms = [(point, death) for point, *_ in ROWS for death in DEATHS]
    expected = {(point, death): tuple(ends) for point, *ends in ROWS for death in DEATHS}
    with queues_of(site):
        cases = [Case(number, *harm, site, sink) for number, harm in enumerate(harms)]
        site.observer()
        go_on(site, cases)
        assert [(case.point, case.death) for case in cases if not case.has_happened] == []
        assert {(case.point, case.death): case.found(sink) for case in cases} == expected

        for case in cases:
            if mail_state(read(case.export)) == "unknown":
                say_what_is_true(superuser, case, sink)
        go_on(site, cases)
    assert {mail_state(read(case.export)).value for case in cases} == {"sent"}
    assert [sink.taken_for(case.address) for case in cases] == [1] * len(cases)
