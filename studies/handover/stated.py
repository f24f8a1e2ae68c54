"""The marks of the paper's statements in figures 2 to 6."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bentpipe.plots.published import mark_level, mark_value
from bentpipe.plots.style import INK, PREDICTED

from .cases import DURATION_S, HANDOVERS_S, VERSIONS, Experiment
from .measures import SHARE, Course

if TYPE_CHECKING:
    from bentpipe.studies import Statement
    from matplotlib.axes import Axes

#: The name of the proxy, which uses Hybla, among the flows of a figure.
PROXY: Final = "proxy"

_ALL: Final = (*VERSIONS, PROXY)
_QUICK: Final = ("hybla", "cubic", "compound")


@dataclass(frozen=True)
class _Share:
    """A statement about the bytes of one flow over those of others, in an interval."""

    #: The flow. The flow with the fewest bytes if there are several.
    of: tuple[str, ...]
    others: tuple[str, ...]
    #: The flow of ``others`` that counts: that with the most or with the fewest bytes.
    choose: Callable[[Iterable[float]], float] = max
    begin_s: float = 0.0
    end_s: float = DURATION_S


def _except(*left_out: str) -> tuple[str, ...]:
    return tuple(version for version in _ALL if version not in left_out)


_FIRST_S, _SECOND_S = HANDOVERS_S

#: Statements about bytes, by id.
_SHARES: Final[Mapping[str, _Share]] = {
    "fig2-similar": _Share(_QUICK, _QUICK),
    "fig2-compound": _Share(("compound",), ("hybla", "cubic"), end_s=_FIRST_S),
    "fig3a-satellite": _Share(_QUICK, ("reno", "westwood"), end_s=_FIRST_S),
    "fig3a-wired": _Share(VERSIONS, VERSIONS, begin_s=_FIRST_S, end_s=_SECOND_S),
    "fig3a-catch-up": _Share(("compound",), ("hybla", "cubic")),
    "loss-similar": _Share(VERSIONS, VERSIONS),
    "loss-cubic": _Share(("cubic",), _except("cubic", PROXY), min),
    "fig4-all": _Share((PROXY,), _except("compound", PROXY)),
    "fig4-compound": _Share(("compound",), (PROXY,)),
    "fig4-delay-1": _Share(("compound",), _except("compound"), end_s=_FIRST_S),
    "fig4-delay-3": _Share(("compound",), _except("compound"), begin_s=_SECOND_S),
    "fig4-catch-up-cubic": _Share(("cubic",), _except("cubic", PROXY), begin_s=_FIRST_S, end_s=_SECOND_S),
    "fig4-identical": _Share(_ALL, _ALL),
    "fig4-bandwidth": _Share((PROXY,), VERSIONS, begin_s=_FIRST_S, end_s=_SECOND_S),
    "fig5a-first": _Share(("compound",), ("hybla", PROXY), end_s=_FIRST_S),
    "fig5a-behind": _Share(("hybla", PROXY), ("compound",), end_s=_FIRST_S),
    "fig6a-beginning": _Share(("cubic",), _except("cubic", PROXY), end_s=_FIRST_S),
}


def mark_bytes(
    axes: Axes, statements: Sequence[Statement], flows: Mapping[str, Course], colours: Mapping[str, str]
) -> None:
    """Marks the bytes that a flow has at the end of an interval if the statement is true."""
    for statement in statements:
        share = _SHARES.get(statement.id)
        if share is None or not flows.keys() >= {*share.of, *share.others}:
            continue
        begin, end = share.begin_s, share.end_s
        other = share.choose(flows[name].bytes_between(begin, end) for name in share.others)
        name = min(share.of, key=lambda one: flows[one].bytes_between(begin, end))
        colour = colours[name] if len(share.of) == 1 else INK
        base = flows[name].bytes_at(begin) / 1e6
        mark_value(axes, statement, end, colour=colour, scale=other / 1e6, base=base)


def mark_times(
    axes: Axes, experiment: Experiment, statements: Sequence[Statement], colours: Mapping[str, str]
) -> None:
    """Marks the times at which flows restart or stop, in a panel of their rates in Mbit/s. A flow
    has restarted when it has :data:`~.measures.SHARE` of the link's rate."""
    for statement in statements:
        name = statement.id
        for at_s, rate in zip(HANDOVERS_S, experiment.rates[1:], strict=True):
            if name.endswith((f"-compound-{at_s:g}", f"-others-{at_s:g}")):
                colour = colours["compound"] if "compound" in name else INK
                mark_value(axes, statement, SHARE * rate / 1e6, along="x", base=at_s, colour=colour)
        if name == "fig3b-cubic":
            mark_level(axes, statement, along="x", colour=colours["cubic"], note="paper: cut of Cubic")
        if name == "fig6b-others":
            for at_s in HANDOVERS_S:
                _pause(axes, statement, at_s)


def _pause(axes: Axes, statement: Statement, at_s: float) -> None:
    """Marks the end of a pause that begins with a handover."""
    height = 0.06 * axes.get_ylim()[1]
    axes.plot([at_s, at_s + statement.value], [height, height], color=INK, linestyle=PREDICTED)
    mark_value(axes, statement, height, along="x", base=at_s)
    axes.annotate(
        "paper: all but Compound broken",
        (at_s, height),
        (4, 4),
        textcoords="offset points",
        fontsize=7.5,
        color=INK,
        zorder=5,
    )
