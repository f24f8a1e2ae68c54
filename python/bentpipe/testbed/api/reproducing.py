"""Studies: reproductions of published experiments as runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field
from sqlalchemy import select

from bentpipe.quantities import number
from bentpipe.studies import Outcome, Role
from bentpipe.testbed import instruments, queue, reproducing
from bentpipe.testbed.accounts import record_action
from bentpipe.testbed.executor import wake
from bentpipe.testbed.quotas import check_room
from bentpipe.testbed.refused import Refused
from bentpipe.testbed.rules import OF_LEVEL
from bentpipe.testbed.tables import Run

from .callers import AnyCaller, CurrentSettings, Database, UserOrAbove
from .runs import Entry, earlier_launch, entry
from .sessions import Strict

router = APIRouter(tags=["studies"])


class StudyTest(BaseModel):
    """A test of a study, with its description from the README (may be empty). ``impossible`` is the
    reason if the test cannot run on this test bed."""

    name: str
    about: str
    impossible: str | None


class Study(BaseModel):
    """A study with its title, description and tests. ``impossible`` is the reason if some of the
    tests cannot run on this test bed. ``outcomes`` has the number of the paper's claims with each
    recorded outcome. ``figures`` are the names of the recorded figures. ``seconds`` has the time of
    the last complete run on this test bed, by test, and with the empty name of the whole study."""

    name: str
    title: str
    about: str
    tests: list[StudyTest]
    impossible: str | None
    outcomes: dict[Outcome, int]
    figures: list[str]
    seconds: dict[str, float]


class Claim(BaseModel):
    """A statement of a paper with its recorded verdict: the paper's value with its tolerance, and
    our value, as texts. ``reason`` is the cause of a difference, confirmed or suspected. ``role``
    is "claim" for statements that are counted."""

    id: str
    test: str
    text: str
    unit: str
    source: str
    role: Role
    paper: str
    ours: str
    outcome: Outcome
    reason: str


class Reproduce(Strict):
    """One test of a study; null for all tests. ``once`` identifies the launch, as in ``Launch``."""

    test: Annotated[str, Field(max_length=64)] | None = None
    once: Annotated[str, Field(max_length=50)] | None = None


def run_name(study: str) -> str:
    """Returns the name of the runs of a study."""
    return f"Study {study}"


@router.get("/studies")
def listed(_: AnyCaller, store: Database, settings: CurrentSettings) -> list[Study]:
    """Returns the studies of this test bed."""
    machine = instruments.of_machine(settings)

    def refusal(study: str, test: str | None) -> str | None:
        try:
            reproducing.check_kernel(study, test, machine)
        except Refused as refused:
            return str(refused)
        return None

    found = {name: reproducing.description(name) for name in reproducing.available()}
    seconds: defaultdict[str, dict[str, float]] = defaultdict(dict)
    done = select(Run.name, Run.label, Run.started, Run.ended).where(
        Run.instrument == "study", Run.state == "done"
    )
    with store.reading() as rows:
        for name, label, started, ended in rows.execute(done.order_by(Run.number)):
            if started is not None and ended is not None:
                seconds[name][label] = ended - started
    recorded = {name: reproducing.record_of(name) for name in found}
    return [
        Study(
            name=name,
            title=of.title,
            about=of.about,
            tests=[
                StudyTest(name=test, about=about, impossible=refusal(name, test))
                for test, about in of.tests.items()
            ],
            impossible=refusal(name, None),
            outcomes=Counter(
                one.outcome
                for result in recorded[name]
                for one in result.verdicts
                if one.statement.role == "claim"
            ),
            figures=[figure.name for result in recorded[name] for figure in result.figures],
            seconds=seconds[run_name(name)],
        )
        for name, of in found.items()
    ]


@router.get("/studies/{study}/claims")
def claims(study: str, _: AnyCaller) -> list[Claim]:
    """Returns the statements of a study's paper with their recorded verdicts."""
    return [
        Claim.model_validate(
            {key: getattr(verdict.statement, key) for key in ("id", "test", "text", "unit", "source", "role")}
            | {
                "paper": verdict.as_row()[1],
                "ours": number(verdict.ours),
                "outcome": verdict.outcome,
                "reason": verdict.statement.deviation or verdict.statement.suspected,
            }
        )
        for result in reproducing.record_of(study)
        for verdict in result.verdicts
    ]


@router.get("/studies/{study}/figures/{figure}", response_class=FileResponse)
def figure(study: str, figure: str, _: AnyCaller) -> FileResponse:
    """Returns a recorded figure of a study as a PNG file."""
    for result in reproducing.record_of(study):
        for file in result.figures:
            if file.name == figure:
                return FileResponse(file, media_type="image/png")
    raise Refused(404, "there is no such figure")


@router.post("/studies/{study}/runs", status_code=201)
def reproduce(
    study: str, given: Reproduce, who: UserOrAbove, store: Database, settings: CurrentSettings
) -> Entry:
    """Queues a study as one run. The report of the run contains verdicts and figures."""
    if before := earlier_launch(store, settings, given.once, who):
        return before[0]
    if not OF_LEVEL[who.level].instruments:
        raise Refused(403, "your level does not allow launches")
    order = reproducing.job_text(study, given.test)
    reproducing.check_kernel(study, given.test, instruments.of_machine(settings))
    with store.writing() as rows:
        check_room(rows, who.id, who.level, 1)
        run = Run(
            owner_id=who.id,
            name=run_name(study),
            label=given.test or "",
            instrument="study",
            scenario=order,
            once=None if given.once is None else f"{given.once}#0",
        )
        rows.add(run)
        rows.flush()
        rows.refresh(run)
        queue.record_event(rows, run)
        record_action(rows, who, "launch", f"study {study} {given.test or ''}".strip())
        made = entry(run, who, settings)
    wake(settings, made.number)
    return made
