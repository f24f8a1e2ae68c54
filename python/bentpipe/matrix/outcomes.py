"""The outcome of a cell, from the results of its run and the packets that client and server sent
and received."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bentpipe.results.captures import nodes, packets
from bentpipe.results.flows import flow_results
from bentpipe.results.programs import ProgramResult, program_results

from .cells import Cell

if TYPE_CHECKING:
    import numpy.typing as npt

    from bentpipe.results.runs import Run

#: Number of points of the plot of a cell.
POINTS: Final = 160

#: The verdicts.
COMPLETE: Final = "complete"
LATE: Final = "not in time"
FAILED: Final = "failed"
MISSING: Final = "not run"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a cell. Times are in seconds, ``goodput`` in bit/s.

    ``completion_s`` counts from the first packet of the handshake to the last byte at the client.
    ``sent_packets`` and ``sent_bytes`` count the packets of the server with IP headers, and
    ``lost_packets`` those of them that did not reach the client; None if a proxy lies between.
    ``retransmissions`` are the packets that the server's stack counted as lost (QUIC) or
    retransmitted (TCP); None if the stack does not count them. ``packets_hash`` is a hash over the
    times and lengths of all packets. ``offsets`` are points of time and number of payload bytes
    that have arrived at the client.
    """

    row: str
    column: str
    path: str
    load: str
    verdict: str
    reason: str | None = None
    key: str | None = None
    handshake_s: float | None = None
    completion_s: float | None = None
    goodput: float | None = None
    sent_packets: int | None = None
    sent_bytes: int | None = None
    lost_packets: int | None = None
    retransmissions: int | None = None
    packets_hash: str | None = None
    fidelity: str | None = None
    offsets: list[tuple[float, int]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)


def of_cell(cell: Cell, verdict: str, reason: str | None = None, key: str | None = None) -> Outcome:
    """Returns the outcome of a cell without measured numbers."""
    return Outcome(cell.row, cell.column, cell.path.name, cell.load, verdict, reason, key)


def of_run(cell: Cell, run: Run, key: str) -> Outcome:
    """Returns the outcome of a cell after its run. Raises :class:`bentpipe.InputError` for damaged
    results."""
    outcome = replace(of_cell(cell, COMPLETE, key=key), fidelity=run.fidelity.get("verdict"))
    outcome = _of_packets(outcome, cell, run)
    programs = program_results(run)
    return _of_programs(outcome, cell, programs) if programs else _of_tcp(outcome, cell, run)


def _of_packets(outcome: Outcome, cell: Cell, run: Run) -> Outcome:
    """Adds the hash, the counts and the plot of the captured packets."""
    import polars as pl

    file = run.path / "packets.pcapng"
    frames = [frame for frame in packets(file) if frame.height]
    if not frames:
        return outcome
    wanted = ["interface", "time", "source", "size", "payload"]
    frame = pl.concat([one.select(wanted) for one in frames])
    frame = frame.with_columns(pl.col("time") - frame["time"][0])
    digest = hashlib.sha256()
    for column in ("interface", "time", "size"):
        digest.update(frame[column].cast(pl.Int64).to_numpy().astype("<i8").tobytes())
    names = nodes(file)
    at = {end: frame.filter(interface=names.index(name)) for end, name in _ends(cell).items()}
    sender = _server_address(at["client"], cell)
    sent = at["server"].filter(source=sender) if sender is not None else at["server"].clear()
    arrived = at["client"].filter(source=sender) if sender is not None else at["client"].clear()
    through = cell.scenario is not None and "proxy" in cell.scenario
    payload = arrived["payload"].cast(pl.Int64).cum_sum().to_numpy()
    return replace(
        outcome,
        packets_hash=digest.hexdigest()[:16],
        sent_packets=sent.height,
        sent_bytes=int(sent["size"].cast(pl.Int64).sum()),
        lost_packets=None if through else sent.height - arrived.height,
        offsets=_thinned(arrived["time"].to_numpy(), payload),
    )


def _ends(cell: Cell) -> dict[str, str]:
    return {"client": cell.path.client, "server": cell.path.server}


def _server_address(at_client: Any, cell: Cell) -> int | None:
    """Returns the address of the server in the packets at the client: of the two addresses there,
    the one that did, or did not, send the first packet."""
    addresses = list(dict.fromkeys(at_client["source"].to_list()))[:2]
    if cell.opener == "client":
        return addresses[1] if len(addresses) > 1 else None
    return addresses[0] if addresses else None


def _thinned(times: npt.NDArray[np.int64], totals: npt.NDArray[np.int64]) -> list[tuple[float, int]]:
    """Returns at most :data:`POINTS` points of a curve, including the first and the last."""
    if not len(times):
        return []
    places = np.unique(np.linspace(0, len(times) - 1, POINTS).round().astype(int))
    return [(round(int(times[place]) / 1e9, 4), int(totals[place])) for place in places]


def _of_programs(outcome: Outcome, cell: Cell, programs: list[ProgramResult]) -> Outcome:
    """Adds the client's and the server's own numbers, and the verdict."""
    client = next(one for one in programs if not one.serves)
    server = next((one for one in programs if one.serves), None)
    lost = _line(server).get("lost_packets") if server else None
    outcome = replace(outcome, retransmissions=lost if isinstance(lost, int) else None)
    said = _line(client)
    if client.exit_code is None and not said:
        reason = f"unfinished after {cell.path.limits[cell.load]}"
        if server and server.exit_code:
            return replace(
                outcome, verdict=FAILED, reason=f"server: {server.outcome}: {server.said or 'no output'}"
            )
        return replace(outcome, verdict=LATE, reason=reason)
    if client.exit_code or not said:
        return replace(
            outcome, verdict=FAILED, reason=f"client: {client.outcome}: {client.said or 'no output'}"
        )
    if said.get("bytes") != cell.size:
        return replace(
            outcome, verdict=FAILED, reason=f"client: {said.get('bytes')} of {cell.size} bytes arrived"
        )
    completion = float(said["completion_s"])
    return replace(
        outcome,
        handshake_s=float(said["handshake_s"]),
        completion_s=completion,
        goodput=8 * cell.size / completion,
    )


def _line(program: ProgramResult) -> dict[str, Any]:
    """Returns the object in the last line of a program's output, empty if there is none."""
    with suppress(ValueError):
        said = json.loads(program.said)
        return said if isinstance(said, dict) else {}
    return {}


def _of_tcp(outcome: Outcome, cell: Cell, run: Run) -> Outcome:
    """Adds the results of the flow, and the verdict."""
    flow = flow_results(run)[0]
    outcome = replace(outcome, retransmissions=flow.retransmissions)
    if flow.failure is not None:
        return replace(outcome, verdict=FAILED, reason=flow.failure)
    completion = flow.transaction_mean if cell.opener == "client" else flow.transfer
    if completion is None:
        return replace(outcome, verdict=LATE, reason=f"unfinished after {cell.path.limits[cell.load]}")
    return replace(outcome, completion_s=completion, goodput=8 * cell.size / completion)
