"""The addresses of the dashboard."""

from __future__ import annotations

from django.urls import path, register_converter

from jobs.domain.words import ACT_SLUGS
from jobs.views import (
    access,
    acts,
    audit,
    health,
    job,
    job_types,
    lists,
    lookup,
    observer,
    operations,
    overview,
    reviews,
    session,
    ticked,
    workers,
)
from jobs.views.converters import NameConverter, OperationConverter

app_name = "jobs"

register_converter(NameConverter, "name")
register_converter(OperationConverter, "operation")

_OPERATION = "operations/<operation:operation_id>/"
_JOB = "jobs/<slug:connection>/<name:queue>/<name:job_id>/"

urlpatterns = [
    path("login/", session.SignIn.as_view(), name="login"),
    path("logout/", session.SignOut.as_view(), name="logout"),
    path("healthz", health.healthz, name="healthz"),
    path("", overview.overview_page, name="overview"),
    path("failed/", lists.failed, name="failed"),
    path("review/", reviews.reviews, name="reviews"),
    path("review/<int:review_id>/", reviews.review, name="review"),
    path("review/<int:review_id>/take/", reviews.take, name="review-take"),
    path("review/<int:review_id>/give-back/", reviews.give_back, name="review-give-back"),
    path("review/<int:review_id>/resolve/", reviews.resolve, name="review-resolve"),
    path(_OPERATION, operations.operation, name="operation"),
    *(
        path(f"{_OPERATION}{ACT_SLUGS[verb]}/", operations.act_on_operation, {"verb": verb}, name=name)
        for verb, name in (("retry_job", "operation-retry"), ("cancel_job", "operation-cancel"))
    ),
    path("queues/", overview.queues_page, name="queues"),
    path("queues/<slug:connection>/<name:queue>/<slug:state>/", lists.queue_state, name="queue-state"),
    path(_JOB, job.job, name="job"),
    *(path(f"{_JOB}{word}/", acts.act_on_job, {"verb": verb}, name=f"job-{word}") for verb, word in ACT_SLUGS.items()),
    path("ticked/", ticked.ticked, name="ticked"),
    path("ticked/<uuid:batch>/", ticked.ticked_result, name="ticked-result"),
    path("workers/", workers.workers_page, name="workers"),
    path("lookup/", lookup.lookup, name="lookup"),
    path("observer/", observer.observer, name="observer"),
    path("job-types/", job_types.job_types, name="job-types"),
    path("job-types/<name:path>/", job_types.job_type, name="job-type"),
    path("audit/", audit.audit, name="audit"),
    path("access/", access.access_page, name="access"),
    path("access/give/", access.give, name="access-give"),
    path("access/take/", access.take, name="access-take"),
]
