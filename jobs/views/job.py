"""One job's page."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs import ledger
from jobs.models import Queue
from jobs.permissions import find_queue, visibility
from jobs.selectors.job import JobPage, job_page
from jobs.selectors.records import record_of
from jobs.views.requests import SignedInRequest, known_connection, render_page


@require_safe
def job(request: SignedInRequest, connection: str, queue: str, job_id: str) -> HttpResponse:
    """One job with what is known, what can be done and why not."""
    found = find_queue(request.user, known_connection(connection), queue)
    page = read_page(request, found, job_id)
    if page is None or page.is_gone:
        return job_gone(request, found, job_id, page)
    return render_page(request, "job_page.html", {"page": page}, part="_job_state_part.html")


def read_page(request: SignedInRequest, queue: Queue, job_id: str) -> JobPage | None:
    """The page's data, or None when the queue has no such job."""
    return job_page(request.user, visibility(request.user), queue, job_id, now=timezone.now())


def job_gone(request: SignedInRequest, queue: Queue, job_id: str, listed: JobPage | None = None) -> HttpResponse:
    """404 with a way back; says who deleted the job, or that a list still names what Redis no longer has (`listed`)."""
    context = {
        "connection": queue.connection,
        "queue": queue.name,
        "job_id": job_id,
        "offer": listed.offer("remove_entry") if listed else None,
        "deleted": ledger.deletion_of_job(queue.connection, queue.name, job_id),
        "record": record_of(queue.connection, queue.name, job_id),
    }
    return render_page(request, "job_gone_page.html", context, status=404)
