"""The stream of events. One reader of the table of events serves all browser tabs, each with the
events that its user may see."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from bentpipe.testbed import live
from bentpipe.testbed.accounts import Caller, are_valid
from bentpipe.testbed.store import Store
from bentpipe.testbed.tables import Event, Session

#: Seconds between polls of the table, and between keep-alive messages.
POLL_S: Final = 0.25
KEEP_ALIVE_S: Final = 15.0
#: Maximum number of events queued for a slow browser. Beyond it, the browser must reload its data.
MAX_WAITING: Final = 500
#: Maximum number of parts of a run's rows queued for a slow browser.
MAX_PARTS: Final = 4
#: Maximum number of concurrent streams per user, and in total.
MAX_STREAMS_PER_USER: Final = 20
MAX_STREAMS: Final = 1000


@dataclass(frozen=True)
class Message:
    """The text of an event. Live rows of a run have no ``id``."""

    id: int | None
    owner: int
    text: str


@dataclass
class WatchedRun:
    """The run whose live rows a tab shows, and the offset up to which they were sent."""

    run: str
    file: Path
    offset: int = 0


class Broadcast:
    """Reads new events once and passes them to all streams."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.followers: dict[asyncio.Queue[Message | None], Caller] = {}
        self.watched: dict[asyncio.Queue[Message | None], WatchedRun] = {}
        self.last = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Reads and distributes events while the context is active."""
        with contextlib.suppress(SQLAlchemyError):
            self.last = await asyncio.to_thread(self._newest)
        task = asyncio.create_task(self._loop())
        try:
            yield
        finally:
            task.cancel()
            for waiting in list(self.followers):
                _end(waiting)

    async def _loop(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            if not self.followers:
                continue
            with contextlib.suppress(SQLAlchemyError):
                found, ended = await asyncio.to_thread(
                    self._since, self.last, {one.session for one in self.followers.values()}
                )
                for waiting, who in list(self.followers.items()):
                    if who.session in ended:
                        _end(waiting)
                        continue
                    for one in found:
                        if one.owner == who.id or who.is_at_least("administrator"):
                            if waiting.full():
                                _end(waiting)
                                break
                            waiting.put_nowait(one)
                if found:
                    self.last = found[-1].id or self.last
            await self._rows()

    async def _rows(self) -> None:
        """Sends live rows to the tabs that watch a run. A slow reader receives them later, because
        they stay in the file."""
        if not self.watched:
            return
        places = {(one.file, one.offset) for one in self.watched.values()}
        read = await asyncio.to_thread(lambda: {place: live.lines_after(*place) for place in places})
        for waiting, one in list(self.watched.items()):
            lines, offset = read.get((one.file, one.offset), ([], one.offset))
            if lines and waiting.qsize() < MAX_PARTS:
                waiting.put_nowait(_part(one, lines))
                one.offset = offset

    def _newest(self) -> int:
        with self.store.reading() as rows:
            return rows.scalar(select(func.max(Event.id))) or 0

    def _since(self, last: int, sessions: set[str]) -> tuple[list[Message], set[str]]:
        """Returns the events after ``last``, and the sessions that have ended."""
        with self.store.reading() as rows:
            found = rows.scalars(select(Event).where(Event.id > last).order_by(Event.id).limit(2000)).all()
            alive = set(rows.scalars(select(Session.id).where(Session.id.in_(sessions), *are_valid())))
            return [_message(one) for one in found], sessions - alive

    def _missed(self, who: Caller, last: int) -> tuple[list[Message], bool]:
        """Returns the events after ``last`` that a user may see, and true if some were already
        removed."""
        with self.store.reading() as rows:
            oldest = rows.scalar(select(func.min(Event.id))) or 0
            found = select(Event).where(Event.id > last).order_by(Event.id).limit(MAX_WAITING)
            if not who.is_at_least("administrator"):
                found = found.where(Event.owner_id == who.id)
            return [_message(one) for one in rows.scalars(found)], last + 1 < oldest

    async def follow(
        self, who: Caller, last: int | None, watched: WatchedRun | None = None
    ) -> AsyncGenerator[str, None]:
        """Yields the text of a stream: events, and all live rows of the run ``watched``."""
        if (
            len(self.followers) >= MAX_STREAMS
            or list(self.followers.values()).count(who) >= MAX_STREAMS_PER_USER
        ):
            # The status was already sent, so the refusal is an event. The browser retries after 30
            # s.
            yield "retry: 30000\nevent: busy\ndata: {}\n\n"
            return
        waiting: asyncio.Queue[Message | None] = asyncio.Queue(MAX_WAITING + 1)
        self.followers[waiting] = who
        if watched is not None:
            self.watched[waiting] = watched
        sent = last or 0
        try:
            yield "retry: 2000\n\n"
            if last is not None:
                missed, gap = await asyncio.to_thread(self._missed, who, last)
                if gap:
                    yield "event: reload\ndata: {}\n\n"
                for one in missed:
                    sent = one.id or sent
                    yield one.text
            while True:
                try:
                    found = await asyncio.wait_for(waiting.get(), KEEP_ALIVE_S)
                except TimeoutError:
                    yield ": alive\n\n"
                    continue
                if found is None:
                    yield "event: reload\ndata: {}\n\n"
                    return
                if found.id is None or found.id > sent:
                    yield found.text
        finally:
            self.followers.pop(waiting, None)
            self.watched.pop(waiting, None)


def _message(event: Event) -> Message:
    text = f"id: {event.id}\nevent: run\ndata: {json.dumps({'run': event.run_id, **event.data})}\n\n"
    return Message(event.id, event.owner_id, text)


def _part(watched: WatchedRun, lines: list[str]) -> Message:
    begins = "true" if watched.offset == 0 else "false"
    data = f'{{"run":"{watched.run}","begins":{begins},"parts":[{",".join(lines)}]}}'
    return Message(None, 0, f"event: rows\ndata: {data}\n\n")


def _end(waiting: asyncio.Queue[Message | None]) -> None:
    while waiting.full():
        waiting.get_nowait()
    waiting.put_nowait(None)
