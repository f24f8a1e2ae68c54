"""The tables of flows and groups that ``simulate`` and ``emulate`` print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from bentpipe.quantities import number
from bentpipe.results.groups import GroupResult, by_group, classes_beside, summarise

from .output import print_note, print_table

if TYPE_CHECKING:
    from bentpipe.results.flows import FlowResult
    from bentpipe.results.programs import Direction, ProgramResult

#: The flows of runs, each run with the labels that distinguish it.
Runs = Sequence[tuple[dict[str, str], Sequence["FlowResult"]]]

_NUMBERS = (
    "goodput\nkbit/s",
    "predicted\nkbit/s",
    "RTT\nms",
    "p95\nms",
    "predicted\nms",
    "efficiency",
    "time-outs",
)


def _transfer(flow: FlowResult) -> list[str] | None:
    """Returns the cells of a bulk transfer of a given size, or of a complete transfer; None for
    other flows."""
    if flow.transfer is None and not (flow.app == "bulk" and flow.unfinished):
        return None
    return ["unfinished" if flow.transfer is None else number(flow.transfer), number(flow.predicted_transfer)]


def _transactions(flow: FlowResult) -> list[str] | None:
    if flow.transaction_mean is None and (flow.started is None or flow.app in ("bulk", "calls", "voice")):
        return None
    return [_scaled(flow.transaction_mean, 1e3), _scaled(flow.transaction_p95, 1e3), *_tasks(flow)]


def _quality(flow: FlowResult) -> list[str] | None:
    if flow.app not in ("calls", "voice") or (flow.voice_mos is None and flow.started is None):
        return None
    return [
        *(number(flow.voice_mos), number(flow.voice_loss), _scaled(flow.voice_delay, 1e3)),
        *_tasks(flow),
    ]


def _set_up(flow: FlowResult) -> list[str] | None:
    """Returns the cells of the set-up of calls; None for flows without answered calls."""
    if flow.post_dial_delay is None and flow.answer_delay is None:
        return None
    times = (flow.post_dial_delay, flow.post_dial_delay_p95, flow.answer_delay)
    return [number(time) for time in times]


def _video(flow: FlowResult) -> list[str] | None:
    """Returns the cells of a video; None for other flows."""
    if flow.video_stalls is None:
        return None
    times = [number(flow.video_startup), str(flow.video_stalls), number(flow.video_stalled)]
    return [*times, _scaled(flow.video_bitrate, 1e-3)]


def _tasks(flow: FlowResult) -> list[str]:
    """Returns the numbers of started, finished and unfinished pages, files, mails or calls."""
    return ["-" if count is None else str(count) for count in (flow.started, flow.finished, flow.unfinished)]


def _datagrams(flow: FlowResult) -> list[str] | None:
    """Returns loss and delay of datagrams or bundles. Calls have other quantities, and transports
    that retransmit have a round-trip time."""
    of_other_kind = flow.transport == "tcp" or flow.rtt_mean is not None or flow.voice_mos is not None
    if flow.loss is None or of_other_kind or not (flow.loss or flow.delay_mean):
        return None
    return [_scaled(flow.loss, 100), _scaled(flow.delay_mean, 1e3), _scaled(flow.delay_p95, 1e3)]


_TASKS: Final = ("started", "finished", "unfinished")

#: Tables of quality for users: times of transfers, pages, files or messages, loss and delay of
#: datagrams, and the quality of calls and videos. Each has columns, and a function for the texts of
#: a flow, which returns None for a flow that is not in the table.
_OF_USERS: Final[Sequence[tuple[Sequence[str], Callable[[FlowResult], list[str] | None]]]] = (
    (("transfer\ns", "predicted\ns"), _transfer),
    (("transaction\nmean, ms", "p95\nms", *_TASKS), _transactions),
    (("loss\n%", "delay\nmean, ms", "p95\nms"), _datagrams),
    (("MOS", "lost or\nlate, %", "mouth to\near, ms", *_TASKS), _quality),
    (("start-up\ns", "stalls", "stalled\ns", "bit rate\nkbit/s"), _video),
    (("post-dial\ndelay, s", "p95\ns", "answered\nafter, s"), _set_up),
)

#: Explains the rows of a flow that proxies split.
_LEGS: Final = (
    "legs: FLOW is the whole path; FLOW@X is the connection from X (a node or a proxy) to the next proxy or "
    "to the destination"
)


def print_results(runs: Runs, *, all_flows: bool = False) -> None:
    """Prints the groups of runs with their statistics, and the flows that belong to none; every
    flow with ``all_flows``."""
    parted = [(own, *by_group([] if all_flows else flows)) for own, flows in runs]
    single = [
        (own, flows if all_flows else rest) for (own, flows), (_, _, rest) in zip(runs, parted, strict=True)
    ]
    if any(flows for _, flows in single) or not any(groups for _, groups, _ in parted):
        _print_flows(single)
    groups = [
        (own, [summarise(name, members) for name, members in found.items()]) for own, found, _ in parted
    ]
    if any(found for _, found in groups):
        _print_groups(groups)
        classes = [(own, classes_beside(flows)) for own, flows in runs]
        _print_groups(
            [(own, [summarise(name, members) for name, members in found.items()]) for own, found in classes]
        )


def _print_flows(runs: Runs) -> None:
    """Prints a table of flows, and the tables of quality for users."""
    labels = list(runs[0][0]) if runs else []
    several = len({flow.flow for _, flows in runs for flow in flows}) > 1
    words = [*labels, *(["flow"] if several or not labels else [])]

    def named(own: dict[str, str], flow: FlowResult) -> list[str]:
        return [*(own[label] for label in labels), *([flow.flow] if len(words) > len(labels) else [])]

    rows = [[*named(own, flow), *_numbers(flow)] for own, flows in runs for flow in flows]
    print_table([*words, *_NUMBERS], rows, text_columns=len(words))
    for columns, numbers in _OF_USERS:
        known = [(own, flow, numbers(flow)) for own, flows in runs for flow in flows]
        of_them = [[*named(own, flow), *texts] for own, flow, texts in known if texts is not None]
        if of_them:
            print_table([*words, *columns], of_them, text_columns=len(words))
    if any(flow.leg is not None for _, flows in runs for flow in flows):
        print_note(_LEGS)


def print_programs(programs: Sequence[ProgramResult]) -> None:
    """Prints the outcome of programs with the last line of their output, and their packets if these
    were captured."""
    words = ["flow", "host", "outcome", "last line of output"]
    rows = [[one.flow, one.host, one.outcome, one.said or "-"] for one in programs]
    if rows:
        print_table(words, rows, text_columns=len(words))
    counted = [
        [one.flow, one.host, *_direction(one.sent), *_direction(one.received)]
        for one in programs
        if one.sent is not None and one.received is not None
    ]
    if counted:
        quantities = ("packets", "bytes", "first, s", "last, s")
        columns = [f"{way}\n{quantity}" for way in ("sent", "received") for quantity in quantities]
        print_table(["flow", "host", *columns], counted, text_columns=2)
        print_note("times of packets count from the first captured packet of the run")
    elif rows:
        print_note("the packets of these programs are counted if record.capture contains one of their hosts")


def _direction(packets: Direction | None) -> list[str]:
    """Returns the cells of a direction."""
    if packets is None:
        return ["-"] * 4
    times = ("-" if time is None else f"{time:.3f}" for time in (packets.first_s, packets.last_s))
    return [str(packets.packets), str(packets.bytes), *times]


def _print_groups(runs: Sequence[tuple[dict[str, str], Sequence[GroupResult]]]) -> None:
    """Prints a table per group, one row per quantity, with the number of flows that have it."""
    columns = ["quantity", "flows", "mean", "p5", "median", "p95", "best", "worst", "worst flow"]
    for own, groups in runs:
        for group in groups:
            rows = [
                [
                    one.about,
                    str(one.count),
                    *map(number, (one.mean, one.p05, one.median, one.p95, one.best, one.worst)),
                    one.worst_flow,
                ]
                for one in group.statistics
            ]
            named = ", ".join([*own.values(), group.name])
            counts = ", ".join(filter(None, [f"{group.flows} flows", group.tasks]))
            print_table(columns, rows, title=f"{named}: {counts}")


def _numbers(flow: FlowResult) -> list[str]:
    percent = None if flow.efficiency is None else 100 * flow.efficiency
    return [
        _scaled(flow.goodput, 1e-3),
        _scaled(flow.predicted_goodput, 1e-3),
        _scaled(flow.rtt_mean, 1e3),
        _scaled(flow.rtt_p95, 1e3),
        _scaled(flow.predicted_rtt, 1e3),
        "-" if percent is None else f"{percent:.0f} %",
        "-" if flow.timeouts is None else str(flow.timeouts),
    ]


def _scaled(value: float | None, factor: float) -> str:
    return number(None if value is None else value * factor)
