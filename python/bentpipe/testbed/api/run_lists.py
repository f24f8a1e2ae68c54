"""Many runs in one request: totals of a list, actions on several runs, and a download of their
files."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session as Transaction

from bentpipe.testbed import queue
from bentpipe.testbed.accounts import Caller, record_action
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.tables import FINAL, Run, User

from .callers import AnyCaller, CurrentSettings, Database, Number, UserOrAbove, changeable, readable
from .courses import course_of
from .filters import Filter, Tag, conditions, stored
from .sessions import Strict

router = APIRouter(tags=["runs"])

#: Largest number of runs of an action, and of a download.
MAX_CHANGED: Final = 1000
MAX_DOWNLOADED: Final = 200
#: Largest size of the files of a download.
MAX_BYTES: Final = 4_000_000_000
#: Files that are compressed already, by their ending.
_COMPRESSED: Final = (".parquet", ".gz", ".zst", ".png", ".wav")

Id = Annotated[str, Field(max_length=32)]
Action = Literal["cancel", "remove", "share", "stop sharing", "tag", "untag"]


class Total(BaseModel):
    """The number of matching runs. ``owners`` and ``tags`` are those of all runs that the caller
    may read, for choices of filters."""

    total: int
    owners: list[str]
    tags: list[str]


class Bulk(Strict):
    """An action on the runs with given ids, or on all runs that match a filter. Sharing is with
    everybody, or with ``course``. ``tag`` is the tag to add or remove."""

    action: Action
    runs: Annotated[list[Id], Field(max_length=MAX_CHANGED)] | None = None
    matching: Filter | None = None
    course: Number | None = None
    tag: Tag | None = None


class BulkChanged(BaseModel):
    """The number of changed runs, and the number of others: runs of other users, and runs in a
    state that does not permit the action."""

    changed: int
    skipped: int


@router.get("/runs/total")
def total(given: Annotated[Filter, Query()], who: AnyCaller, store: Database) -> Total:
    """Returns the number of runs that the caller may read and that match all filters."""
    may = readable(Run, who)
    with store.reading() as rows:
        counted = select(func.count()).select_from(Run).join(User, User.id == Run.owner_id)
        owners = select(User.name).where(select(Run.number).where(Run.owner_id == User.id, may).exists())
        tags = set(rows.scalars(select(Run.tags).where(may, Run.tags != "").distinct().limit(2000)))
        return Total(
            total=rows.scalar(counted.where(may, *conditions(given))) or 0,
            owners=list(rows.scalars(owners.order_by(User.name).limit(1000))),
            tags=sorted({tag for one in tags for tag in one.split()})[:200],
        )


@router.post("/runs/bulk")
def bulk(given: Bulk, who: UserOrAbove, store: Database, settings: CurrentSettings) -> BulkChanged:
    """Applies an action to several runs: cancels, removes, shares or tags them."""
    if given.action in ("tag", "untag") and given.tag is None:
        raise Refused(422, "give a tag")
    folders: list[Path] = []
    with store.writing() as rows:
        course = None if given.course is None else course_of(rows, given.course, who).id
        found, beyond = _chosen(rows, given, who)
        changed = 0
        for run in found:
            if _apply(rows, run, given, course):
                changed += 1
                if given.action == "remove":
                    folders.append(settings.folder(run.owner_id, run.id))
        record_action(rows, who, f"{given.action} runs", str(changed))
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return BulkChanged(changed=changed, skipped=len(found) - changed + beyond)


def _chosen(rows: Transaction, given: Bulk, who: Caller) -> tuple[list[Run], int]:
    """Returns the runs of an action, and the number of chosen runs beyond them. Raises
    :class:`Refused`."""
    wanted = _runs(given.runs, given.matching, who)
    count = rows.scalar(select(func.count()).select_from(wanted.order_by(None).subquery())) or 0
    if count > MAX_CHANGED:
        raise Refused(422, f"{count} runs are more than the {MAX_CHANGED} of one request: add a filter")
    may = select(Run).where(Run.id.in_(wanted), changeable(Run, who)).order_by(Run.number)
    found = list(rows.scalars(may))
    return found, max(count, len(given.runs or ())) - len(found)


def _runs(ids: list[str] | None, matching: Filter | None, who: Caller) -> Select[str]:
    """Returns the query of the ids of the chosen runs that the caller may read. Raises
    :class:`Refused`."""
    if (ids is None) == (matching is None):
        raise Refused(422, 'give either "runs" or "matching"')
    found = select(Run.id).join(User, User.id == Run.owner_id).where(readable(Run, who))
    if ids is not None:
        return found.where(Run.id.in_(ids))
    return found.where(*conditions(matching or Filter()))


def _apply(rows: Transaction, run: Run, given: Bulk, course: int | None) -> bool:
    """Applies an action to a run. Returns false if the state of the run does not permit it."""
    if given.action == "cancel":
        if run.state in FINAL:
            return False
        queue.cancel(rows, run)
    elif given.action == "remove":
        if run.state not in FINAL:
            return False
        rows.delete(run)
    elif given.action == "share":
        if course is None:
            run.shared = True
        else:
            run.course_id = course
    elif given.action == "stop sharing":
        run.shared, run.course_id = False, None
    else:
        assert given.tag is not None
        tags = [one for one in run.tags.split() if one != given.tag]
        if given.action == "tag":
            tags.append(given.tag)
        if len(tags) > 12:
            return False
        run.tags = stored(tags)
    return True


@router.get("/runs/zip", response_class=StreamingResponse)
def download(
    run: Annotated[list[Id], Query(min_length=1, max_length=MAX_DOWNLOADED)],
    who: AnyCaller,
    store: Database,
    settings: CurrentSettings,
) -> StreamingResponse:
    """Returns the files of several runs as a ZIP archive, in one folder per run. Runs without files
    are left out."""
    with store.reading() as rows:
        found = select(Run.number, Run.owner_id, Run.id, Run.bytes)
        chosen = rows.execute(found.where(Run.id.in_(run), readable(Run, who)).order_by(Run.number)).all()
    if len(chosen) < len(set(run)):
        raise Refused(404, "there is no such run")
    size = sum(one.bytes for one in chosen)
    if size > MAX_BYTES:
        raise Refused(
            413, f"{size // 1_000_000} MB are more than the {MAX_BYTES // 1_000_000} MB of a download"
        )
    files = [
        (f"run-{one.number}/{file.relative_to(folder).as_posix()}", file)
        for one in chosen
        if (folder := settings.folder(one.owner_id, one.id)).is_dir()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.is_symlink()
    ]
    headers = {"Content-Disposition": 'attachment; filename="runs.zip"'}
    return StreamingResponse(_archive(files), media_type="application/zip", headers=headers)


class _Parts:
    """A file that is written and then taken in parts, so that an archive of any size needs little
    memory."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        return len(part)

    def flush(self) -> None:
        """Does nothing, because each part is taken as it is."""

    def take(self) -> bytes:
        """Returns everything written since the last call."""
        found = b"".join(self._parts)
        self._parts.clear()
        return found


def _archive(files: list[tuple[str, Path]]) -> Iterator[bytes]:
    """Yields the parts of a ZIP archive with the given names and files."""
    parts = _Parts()
    with zipfile.ZipFile(parts, "w") as archive:  # type: ignore[call-overload]
        for name, file in files:
            about = zipfile.ZipInfo(name, date_time=(2000, 1, 1, 0, 0, 0))
            kept = file.suffix in _COMPRESSED
            about.compress_type = zipfile.ZIP_STORED if kept else zipfile.ZIP_DEFLATED
            try:
                source = file.open("rb")
            except OSError:
                # The run was removed in the meantime.
                continue
            with source, archive.open(about, "w", force_zip64=True) as target:
                while part := source.read(1 << 20):
                    target.write(part)
                    yield parts.take()
    yield parts.take()
