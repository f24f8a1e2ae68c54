"""The calls of runs, and their speech."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Query
from fastapi import Path as PathParameter
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic import BaseModel

from bentpipe.results.runs import Run
from bentpipe.testbed.calls import calls_of, speech_of

from .callers import AnyCaller, CurrentSettings, Database
from .pools import Pool
from .results import folder_of

router = APIRouter(tags=["results"])

#: The thread that renders calls, which occupies a processor for seconds.
renderings: Final = Pool("renderings of calls", threads=1, waiting=12, per_caller=2)


class Call(BaseModel):
    """A call as one party heard it: `NAME` by the callee, `NAME.reverse` by the caller. ``loss``
    are lost and late packets in percent, and ``mos`` is the mean opinion score of the E-model."""

    name: str
    codec: str
    loss: float | None
    mos: float | None


@router.get("/runs/{run}/calls")
def calls(run: str, who: AnyCaller, store: Database, settings: CurrentSettings) -> list[Call]:
    """Returns the calls of a run that can be heard."""
    found = calls_of(Run(folder_of(store, settings, run, who)[1]))
    return [Call.model_validate(one, from_attributes=True) for one in found]


@router.get("/runs/{run}/speech/{call:path}")
async def speech(
    run: str,
    call: Annotated[str, PathParameter(max_length=200)],
    who: AnyCaller,
    store: Database,
    settings: CurrentSettings,
    spoken: Annotated[bool, Query()] = False,
) -> Response:
    """Returns the first minute of the speech that the listener of a call heard, as a WAV file; with
    ``spoken``, the speech that the talker spoke."""
    _, folder = await run_in_threadpool(folder_of, store, settings, run, who)
    content = await renderings.run(who.id, _rendered, folder, call, spoken)
    return Response(content, media_type="audio/wav", headers={"Accept-Ranges": "none"})


def _rendered(folder: Path, call: str, spoken: bool) -> bytes:
    return speech_of(folder, call, spoken=spoken)
