"""Our measured values for the paper's statements, by the ids of published.csv."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .cases import TAIL, VERSIONS
from .measures import Outcome

#: Outcomes by experiment and version. An experiment through the proxy has the name
#: "EXPERIMENT-pep".
Outcomes = Mapping[tuple[str, str], Outcome]

#: The versions that fill the satellite link quickly, by the paper.
_QUICK: Final = ("hybla", "cubic", "compound")
#: The versions that are slow over the satellite, by the paper.
_SLOW: Final = ("reno", "westwood")


#: The name of the proxy, which uses Hybla, among the flows of an experiment.
_PROXY: Final = "proxy"
#: The flows whose restart after a break of 500 ms takes "at least about 5 seconds".
_RESTARTING: Final = ("cubic", "hybla", _PROXY)


def _flows(outcomes: Outcomes, experiment: str) -> dict[str, Outcome]:
    """Returns the outcomes of an experiment by version, and the outcome of the proxy. Raises
    ``KeyError`` if the experiment was not run through the proxy."""
    flows = {version: outcomes[experiment, version] for version in VERSIONS}
    return flows | {_PROXY: outcomes[f"{experiment}-pep", "hybla"]}


def _except(*left_out: str) -> list[str]:
    return [version for version in VERSIONS if version not in left_out]


def values(outcomes: Outcomes, test: str) -> dict[str, float | None]:
    """Returns our measured values for the statements of a test, by id.

    A value is ``None`` if it was not measured, or if its denominator is 0."""
    ours = {
        "fig2": _fig2,
        "fig3a": _fig3a,
        "fig3b": _fig3b,
        "loss": _loss,
        "fig4": _fig4,
        "fig5": _fig5,
        "fig6": _fig6,
        "conclusion": _conclusion,
    }[test](outcomes)
    return {name: None if value is None else round(value, 4) + 0.0 for name, value in ours.items()}


def _ratio(numbers: list[float]) -> float:
    return min(numbers) / max(numbers)


def _fig2(outcomes: Outcomes) -> dict[str, float | None]:
    satellite = {version: outcomes["satellite", version] for version in VERSIONS}
    return {
        "fig2-similar": _ratio([satellite[version].delivered for version in _QUICK]),
        "fig2-compound-lossless": sum(satellite["compound"].retransmissions),
        "fig2-compound": satellite["compound"].phases[0]
        / max(satellite[version].phases[0] for version in ("hybla", "cubic")),
        "fig2-tail-length": min(outcomes[TAIL, version].tail_s for version in ("hybla", "cubic"))
        - outcomes[TAIL, "compound"].tail_s,
        "fig2-losses": min(sum(satellite[version].retransmissions) for version in ("hybla", "cubic")),
    }


def _fig3a(outcomes: Outcomes) -> dict[str, float | None]:
    flows = {version: outcomes["delay", version] for version in VERSIONS}
    lost = {version: flows[version].retransmissions[2] for version in ("hybla", "cubic")}
    pauses_s = {version: flows[version].pauses_s[1] for version in _QUICK}
    return {
        "fig3a-satellite": min(flows[version].phases[0] for version in _QUICK)
        / max(flows[version].phases[0] for version in _SLOW),
        "fig3a-wired": _ratio([flow.phases[1] for flow in flows.values()]),
        "fig3a-cubic": lost["cubic"],
        "fig3a-hybla": lost["hybla"] / lost["cubic"] if lost["cubic"] else None,
        "fig3a-compound": pauses_s["compound"] - min(pauses_s["hybla"], pauses_s["cubic"]),
        "fig3a-catch-up": flows["compound"].delivered
        / max(flows[version].delivered for version in ("hybla", "cubic")),
    }


def _fig3b(outcomes: Outcomes) -> dict[str, float | None]:
    others = [outcomes["bandwidth", version] for version in _except("cubic")]
    cubic = outcomes["bandwidth", "cubic"]
    return {
        "fig3b-similar": min(_ratio([outcome.phases[number] for outcome in others]) for number in range(3)),
        "fig3b-cubic": cubic.cut_s,
        "fig3b-cubic-only": cubic.pauses_s[1] - max(outcome.pauses_s[1] for outcome in others),
    }


def _loss(outcomes: Outcomes) -> dict[str, float | None]:
    delivered = {version: outcomes["loss", version].delivered for version in VERSIONS}
    return {
        "loss-similar": _ratio(list(delivered.values())),
        "loss-cubic": delivered["cubic"] / min(delivered[version] for version in _except("cubic")),
    }


def _fig4(outcomes: Outcomes) -> dict[str, float | None]:
    """Returns the values for figure 4. The proxy uses Hybla towards the satellite, as in the paper.

    Returns no values if the experiments through the proxy were not run."""
    if ("satellite-pep", "hybla") not in outcomes:
        return {}
    satellite, delay, wired = (_flows(outcomes, name) for name in ("satellite", "delay", "wired"))
    lags = [_lag(delay, phases) for phases in (1, 2)]
    return {
        "fig4-all": satellite[_PROXY].delivered
        / max(satellite[version].delivered for version in _except("compound")),
        "fig4-compound": satellite["compound"].delivered / satellite[_PROXY].delivered,
        "fig4-delay-1": _lead(delay, "compound", 0),
        "fig4-delay-3": _lead(delay, "compound", 2),
        "fig4-catch-up": lags[1] / lags[0] if lags[0] else None,
        "fig4-catch-up-cubic": delay["cubic"].phases[1]
        / max(delay[version].phases[1] for version in _except("cubic")),
        "fig4-identical": _ratio([flow.delivered for flow in wired.values()]),
        "fig4-bandwidth": _lead(wired, _PROXY, 1),
    }


def _lead(flows: Mapping[str, Outcome], name: str, phase: int) -> float:
    """Returns the bytes of a flow in a phase over the most of the others."""
    return flows[name].phases[phase] / max(flow.phases[phase] for key, flow in flows.items() if key != name)


def _lag(flows: Mapping[str, Outcome], phases: int) -> float:
    """Returns the bytes by which the last flow is behind the first after a number of phases."""
    numbers = [sum(flow.phases[:phases]) for flow in flows.values()]
    return max(numbers) - min(numbers)


def _fig5(outcomes: Outcomes) -> dict[str, float | None]:
    """Returns the values for figure 5. Values with the proxy are missing if it was not run."""
    ours: dict[str, float | None] = {}
    for letter, gap_ms in (("a", 500), ("b", 1000)):
        for number, at_s in enumerate((20, 40)):
            compound = outcomes[f"delay-{gap_ms}", "compound"]
            ours[f"fig5{letter}-compound-{at_s}"] = compound.restarts_s[number]
    ours["fig5-cubic"] = max(outcomes["delay-1000", "cubic"].restarts_s) - max(
        outcomes["delay-500", "cubic"].restarts_s
    )
    if ("delay-500-pep", "hybla") not in outcomes:
        return ours
    for letter, gap_ms in (("a", 500), ("b", 1000)):
        flows = _flows(outcomes, f"delay-{gap_ms}")
        for number, at_s in enumerate((20, 40)):
            restarts_s = [flows[name].restarts_s[number] for name in _RESTARTING]
            ours[f"fig5{letter}-others-{at_s}"] = min(restarts_s)
    flows = _flows(outcomes, "delay-500")
    ours["fig5a-first"] = flows["compound"].phases[0] / max(
        flows[name].phases[0] for name in ("hybla", _PROXY)
    )
    ours["fig5a-behind"] = (
        min(flows[name].phases[0] for name in ("hybla", _PROXY)) / flows["compound"].phases[0]
    )
    return ours


def _fig6(outcomes: Outcomes) -> dict[str, float | None]:
    """Returns the values for figure 6. Values with the proxy are missing if it was not run."""
    short = {version: outcomes["bandwidth-500", version] for version in VERSIONS}
    ours: dict[str, float | None] = {
        "fig6a-beginning": short["cubic"].phases[0]
        / max(short[version].phases[0] for version in _except("cubic")),
        "fig6a-compound-20": short["compound"].restarts_s[0],
        "fig6a-compound-40": short["compound"].restarts_s[1],
        "fig6b-compound": max(outcomes["bandwidth-1000", "compound"].pauses_s),
    }
    if ("bandwidth-500-pep", "hybla") not in outcomes:
        return ours
    flows = _flows(outcomes, "bandwidth-500")
    pauses_s = {name: flow.pauses_s for name, flow in flows.items()}
    restarts_s = {name: flow.restarts_s for name, flow in flows.items()}
    handovers = range(2)
    named = ("hybla", _PROXY, "compound")
    long = _flows(outcomes, "bandwidth-1000")
    return ours | {
        "fig6a-cubic-cut": min(
            pauses_s["cubic"][number] / max(pauses_s[name][number] for name in named) for number in handovers
        ),
        "fig6a-cubic-restart": min(
            restarts_s["cubic"][number] - max(restarts_s[name][number] for name in named)
            for number in handovers
        ),
        "fig6a-same": max(abs(pauses_s["hybla"][number] - pauses_s[_PROXY][number]) for number in handovers),
        "fig6a-best": max(
            pauses_s["compound"][number] / min(pauses_s[name][number] for name in _RESTARTING)
            for number in handovers
        ),
        "fig6b-others": min(max(flow.pauses_s) for name, flow in long.items() if name != "compound"),
    }


#: The handovers without and with breaks.
_SOFT: Final = ("delay", "bandwidth", "loss", "wired")
_BROKEN: Final = ("delay-500", "delay-1000", "bandwidth-500", "bandwidth-1000")
#: The experiments with a long propagation delay.
_LONG: Final = ("satellite", "delay", "delay-500", "delay-1000")


def _conclusion(outcomes: Outcomes) -> dict[str, float | None]:
    """Returns the values for the paper's conclusion."""

    def lead(experiments: tuple[str, ...]) -> float:
        """Returns the bytes of Compound in all of these experiments over the most of the other
        versions."""
        total = {
            version: sum(outcomes[name, version].delivered for name in experiments) for version in VERSIONS
        }
        return total["compound"] / max(total[version] for version in _except("compound"))

    proxied = all((f"{name}-pep", "hybla") in outcomes for name in _LONG)
    return {
        "best-soft": lead(_SOFT),
        "best-breaks": lead(_BROKEN),
        "better-than-proxy": max(
            outcomes[name, "compound"].delivered / outcomes[f"{name}-pep", "hybla"].delivered
            for name in _LONG
        )
        if proxied
        else None,
    }
