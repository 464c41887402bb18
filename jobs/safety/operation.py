"""The decorator that makes a function an operation's job, and `.submit()`, which queues it with the business data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

from jobs.domain.backoff import Backoff
from jobs.safety.calls import Call, Shape
from jobs.safety.errors import MisuseError

if TYPE_CHECKING:
    from jobs.models import Operation

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class JobKind:
    """What is declared of a function: how its calls are named, how it is retried, what it does outside."""

    path: str
    shape: Shape
    retry: Backoff
    bad_data: tuple[type[BaseException], ...]
    effects: tuple[str, ...]
    formerly: tuple[str, ...] = ()


class OperationJob(Protocol[P, R]):
    """A function that runs as an operation. RQ's `@job` above it adds `.delay()`."""

    kind: JobKind
    function: Callable[P, R]
    """The function itself, for tests of what it does."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Operation: ...

    def operation_id(self, *args: P.args, **kwargs: P.kwargs) -> str: ...


def operation(
    template: str,
    *,
    entity: str | None = None,
    retry: Backoff | None = None,
    bad_data: Iterable[type[BaseException]] = (),
    effects: Iterable[str] = (),
    formerly: Iterable[str] = (),
) -> Callable[[Callable[P, R]], OperationJob[P, R]]:
    """Make a function an operation's job: `@job("billing")` above, `@operation("invoice:{invoice_id}")` below it.

    `template`: the operation id, of the function's named parameters; the same id is the same business intent for ever.
    `entity`: the parameter that holds the id of the business record. `retry`: how often, and how long between.
    `bad_data`: exceptions that repeating does not help against, as PermanentError. `effects`: the names of all its
    effects, if they are always the same; then nothing is run again once all of them are completed (protocol, R20).
    `formerly`: paths the function had before it was renamed; other functions must not share its ids.

    Raises MisuseError at import for what could not be kept: no named parameters, an id that never changes.
    """

    def decorate(function: Callable[P, R]) -> OperationJob[P, R]:
        kind = JobKind(
            path=f"{function.__module__}.{function.__qualname__}",
            shape=Shape.of(function, template, entity),
            retry=retry or Backoff(),
            bad_data=tuple(bad_data),
            effects=tuple(effects),
            formerly=tuple(formerly),
        )
        if "<locals>" in kind.path:
            raise MisuseError(f"A worker could not import {kind.path}: define the function at the top of its module.")

        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            return cast(R, _run(kind, function, args, kwargs))

        job = cast(OperationJob[P, R], run)
        job.kind, job.function = kind, function
        job.operation_id = lambda *args, **kwargs: kind.shape.bind(args, kwargs).operation_id  # type: ignore[method-assign]  # functions carry these
        job.submit = lambda *args, **kwargs: _submit(job, args, kwargs)  # type: ignore[method-assign]  # as above
        return job

    return decorate


def _run(kind: JobKind, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    # Imported here, for the modules below need Django's models, and a stock worker may not have loaded them yet.
    from jobs.safety.setup import prepare_process

    prepare_process()
    from jobs.safety.running import run_delivery

    return run_delivery(kind, function, args, kwargs)


def _submit(job: OperationJob[P, R], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operation:
    # The caller's own process and, as a rule, transaction: its connections are left alone.
    from jobs.safety.setup import require_app

    require_app()
    from jobs.safety.submitting import submit

    call: Call = job.kind.shape.bind(args, kwargs)
    return submit(job.kind, call, getattr(job, "delay", None))
