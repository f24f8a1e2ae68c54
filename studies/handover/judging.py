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
        / max(satellite[version].phases[0] for version in _except("compound")),
        "fig2-tail-length": min(outcomes[TAIL, version].tail_s for version in ("hybla", "cubic"))
        - outcomes[TAIL, "compound"].tail_s,
        "fig2-tail": min(sum(satellite[version].retransmissions) for version in ("hybla", "cubic")),
    }


def _fig3a(outcomes: Outcomes) -> dict[str, float | None]:
    def phase_bytes(number: int, *versions: str) -> list[float]:
        return [outcomes["delay", version].phases[number] for version in versions]

    pauses_s = {version: outcomes["delay", version].pauses_s[1] for version in VERSIONS}
    retransmissions = {
        version: outcomes["delay", version].retransmissions[2] for version in ("hybla", "cubic")
    }
    [cubic] = phase_bytes(2, "cubic")
    return {
        "fig3a-satellite": min(phase_bytes(0, *_QUICK)) / max(phase_bytes(0, *_SLOW)),
        "fig3a-wired": _ratio(phase_bytes(1, *VERSIONS)),
        "fig3a-cubic": cubic / min(phase_bytes(2, *_except("cubic"))),
        "fig3a-hybla": retransmissions["hybla"] / retransmissions["cubic"]
        if retransmissions["cubic"]
        else None,
        "fig3a-compound": pauses_s["compound"] - min(pauses_s[version] for version in _except("compound")),
    }


def _fig3b(outcomes: Outcomes) -> dict[str, float | None]:
    others = [outcomes["bandwidth", version] for version in _except("cubic")]
    return {
        "fig3b-similar": _ratio([outcome.delivered for outcome in others]),
        "fig3b-slow": _ratio([outcome.phases[1] for outcome in others]),
        "fig3b-cubic": outcomes["bandwidth", "cubic"].pauses_s[1],
        "fig3b-cubic-only": outcomes["bandwidth", "cubic"].pauses_s[1]
        - max(outcome.pauses_s[1] for outcome in others),
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
    proxy = {name: outcomes[f"{name}-pep", "hybla"].delivered for name in ("satellite", "delay", "wired")}
    compound = {name: outcomes[name, "compound"].delivered for name in proxy}
    after = {
        version: sum(outcomes[name, version].phases[1:])
        for name, version in (("delay-pep", "hybla"), ("delay", "compound"))
    }
    others = _except("compound")
    return {
        "fig4-pep": proxy["satellite"] / max(outcomes["satellite", version].delivered for version in _SLOW),
        "fig4-all": proxy["satellite"] / max(outcomes["satellite", version].delivered for version in others),
        "fig4-compound": compound["satellite"] / proxy["satellite"],
        "fig4-delay": compound["delay"] / proxy["delay"],
        "fig4-catch-up": after["hybla"] / after["compound"],
        "fig4-bandwidth": proxy["wired"] / compound["wired"],
    }


def _fig5(outcomes: Outcomes) -> dict[str, float | None]:
    def max_restart_s(gap_ms: int, version: str, suffix: str = "") -> float:
        return max(outcomes[f"delay-{gap_ms}{suffix}", version].restarts_s)

    others = [max_restart_s(500, version) for version in _except("compound")]
    proxy = ("delay-500-pep", "hybla") in outcomes
    return {
        "fig5-others": sum(others) / len(others),
        "fig5-compound": max_restart_s(500, "compound"),
        "fig5-cubic": max_restart_s(1000, "cubic") - max_restart_s(500, "cubic"),
        "fig5-proxy": max_restart_s(500, "hybla", "-pep") if proxy else None,
    }


def _fig6(outcomes: Outcomes) -> dict[str, float | None]:
    pauses_s = {version: max(outcomes["bandwidth-1000", version].pauses_s) for version in VERSIONS}
    min_pause_s = min(pauses_s[version] for version in _except("compound"))
    proxy = outcomes.get(("bandwidth-1000-pep", "hybla"))
    max_pause_s = {
        gap_ms: max(max(outcomes[f"bandwidth-{gap_ms}", version].pauses_s) for version in VERSIONS)
        for gap_ms in (500, 1000)
    }
    return {
        "fig6-short": max_pause_s[500] - max_pause_s[1000],
        "fig6-others": min_pause_s / pauses_s["compound"],
        "fig6-compound": pauses_s["compound"],
        "fig6-proxy": max(proxy.pauses_s) / pauses_s["compound"] if proxy else None,
    }
