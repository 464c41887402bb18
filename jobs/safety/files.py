"""Files that are there whole or not at all, and that only the attempt which holds the operation puts in place."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, Protocol, TextIO, overload
from uuid import UUID

from jobs.safety.errors import MisuseError
from jobs.safety.points import point
from jobs.safety.running import current

LEFT_OVER_AFTER = timedelta(hours=1)


class LeaseHolder(Protocol):
    """The attempt that writes."""

    @property
    def attempt_id(self) -> UUID: ...

    def require_lease(self) -> None: ...


@overload
def result_file(
    path: str | os.PathLike[str],
    mode: Literal["wb"] = "wb",
    *,
    permissions: int = 0o600,
    left_over_after: timedelta = LEFT_OVER_AFTER,
    attempt: LeaseHolder | None = None,
) -> AbstractContextManager[BinaryIO]: ...
@overload
def result_file(
    path: str | os.PathLike[str],
    mode: Literal["w"],
    *,
    permissions: int = 0o600,
    left_over_after: timedelta = LEFT_OVER_AFTER,
    attempt: LeaseHolder | None = None,
) -> AbstractContextManager[TextIO]: ...
def result_file(
    path: str | os.PathLike[str],
    mode: Literal["wb", "w"] = "wb",
    *,
    permissions: int = 0o600,
    left_over_after: timedelta = LEFT_OVER_AFTER,
    attempt: LeaseHolder | None = None,
) -> AbstractContextManager[IO[Any]]:
    """Write a file that appears under `path` when the block ends well, whole and on the disk; else nothing appears.

        with result_file(folder / f"export-{export_id}.csv", "w") as file:
            csv.writer(file).writerows(rows)

    Derive the name from the operation, so that a repeat replaces the file and makes no second one; then writing it is
    Repeatable. `mode`: bytes, or text in UTF-8. `permissions`: less what the umask takes.
    A symbolic link under `path` is replaced, and what it points to left alone.

    What killed attempts have left beside it goes when the next one begins, unless it was written to within
    `left_over_after`: somebody may still be at it. An attempt that has lost its operation is stopped just before its
    file is put in place; between that look and the renaming lies no more than an instant, not nothing.

    Raises LeaseLost, OSError, and MisuseError outside the job of an operation (`attempt` stands in for it).
    """
    if mode not in ("wb", "w"):
        raise MisuseError('A result file is written whole: its mode is "wb" or "w".')
    return _writing(Path(path), mode, permissions, left_over_after, attempt or current())


# ----------------------------------------------------------------------------------------------------------------------


@contextmanager
def _writing(
    path: Path, mode: str, permissions: int, left_over_after: timedelta, attempt: LeaseHolder
) -> Iterator[IO[Any]]:
    temporary = f".{path.name}.{attempt.attempt_id.hex}.part"
    # Everything is done relative to this one folder, whatever is renamed or linked meanwhile.
    with _opened(path.parent) as folder:
        _sweep(folder, path.name, time.time() - left_over_after.total_seconds())
        with _new_file(folder, temporary, permissions) as descriptor:
            with _file_of(descriptor, mode) as file:
                point("file_opened")
                yield file
            point("file_written")
            os.fsync(descriptor)
            point("before_rename")
            attempt.require_lease()
            os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        point("after_rename")
        os.fsync(folder)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _new_file(folder: int, name: str, permissions: int) -> Iterator[int]:
    """A file that was not there before, and is not when the block fails."""
    # O_EXCL follows no link either.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, permissions, dir_fd=folder)
    except FileExistsError:
        raise MisuseError(f"{name} is there already: this attempt is writing that file.") from None
    try:
        yield descriptor
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)


def _file_of(descriptor: int, mode: str) -> IO[Any]:
    # Code that closes the file early, as a wrapper around it may, leaves us the descriptor.
    if mode == "wb":
        return open(descriptor, "wb", closefd=False)
    return open(descriptor, "w", encoding="utf-8", closefd=False)


def _sweep(folder: int, name: str, before: float) -> None:
    """Remove what attempts on the same file left behind and nobody has written to since `before`."""
    left_over = re.compile(re.escape(f".{name}.") + "[0-9a-f]{32}" + re.escape(".part"))
    for found in filter(left_over.fullmatch, os.listdir(folder)):
        # Another attempt may sweep as well, or put its file in place.
        with suppress(FileNotFoundError):
            if os.stat(found, dir_fd=folder, follow_symlinks=False).st_mtime < before:
                os.unlink(found, dir_fd=folder)
