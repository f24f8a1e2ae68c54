"""The study's statements in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .cases import TAIL, VERSIONS
from .measures import Outcome

#: Outcomes by experiment and version. Outcomes with the proxy have the key "EXPERIMENT-pep".
Outcomes = Mapping[tuple[str, str], Outcome]

_QUICK: Final = ("hybla", "cubic", "compound")
_OLD: Final = ("reno", "westwood")


def _except(*left_out: str) -> list[str]:
    return [version for version in VERSIONS if version not in left_out]


def values(of: Outcomes, test: str) -> dict[str, float | None]:
    """Returns the study's values of a test's statements, by id."""
    ours = {
        "fig2": _fig2,
        "fig3a": _fig3a,
        "fig3b": _fig3b,
        "loss": _loss,
        "fig4": _fig4,
        "fig5": _fig5,
        "fig6": _fig6,
    }[test](of)
    return {name: None if value is None else round(value, 4) + 0.0 for name, value in ours.items()}


def _ratio(numbers: list[float]) -> float:
    return min(numbers) / max(numbers)


def _fig2(of: Outcomes) -> dict[str, float | None]:
    one = {version: of["satellite", version] for version in VERSIONS}
    return {
        "fig2-similar": _ratio([one[version].delivered for version in _QUICK]),
        "fig2-compound-lossless": sum(one["compound"].retransmissions),
        "fig2-compound": one["compound"].phases[0]
        / max(one[version].phases[0] for version in _except("compound")),
        "fig2-tail-length": min(of[TAIL, version].tail_s for version in ("hybla", "cubic"))
        - of[TAIL, "compound"].tail_s,
        "fig2-tail": min(sum(one[version].retransmissions) for version in ("hybla", "cubic")),
    }


def _fig3a(of: Outcomes) -> dict[str, float | None]:
    def phase(number: int, *versions: str) -> list[float]:
        return [of["delay", version].phases[number] for version in versions]

    pause = {version: of["delay", version].pauses_s[1] for version in VERSIONS}
    lost = {version: of["delay", version].retransmissions[2] for version in ("hybla", "cubic")}
    [cubic] = phase(2, "cubic")
    return {
        "fig3a-satellite": min(phase(0, *_QUICK)) / max(phase(0, *_OLD)),
        "fig3a-wired": _ratio(phase(1, *VERSIONS)),
        "fig3a-cubic": cubic / min(phase(2, *_except("cubic"))),
        "fig3a-hybla": lost["hybla"] / lost["cubic"] if lost["cubic"] else None,
        "fig3a-compound": pause["compound"] - min(pause[version] for version in _except("compound")),
    }


def _fig3b(of: Outcomes) -> dict[str, float | None]:
    others = [of["bandwidth", version] for version in _except("cubic")]
    return {
        "fig3b-similar": _ratio([one.delivered for one in others]),
        "fig3b-slow": _ratio([one.phases[1] for one in others]),
        "fig3b-cubic": of["bandwidth", "cubic"].pauses_s[1],
        "fig3b-cubic-only": of["bandwidth", "cubic"].pauses_s[1] - max(one.pauses_s[1] for one in others),
    }


def _loss(of: Outcomes) -> dict[str, float | None]:
    whole = {version: of["loss", version].delivered for version in VERSIONS}
    return {
        "loss-similar": _ratio(list(whole.values())),
        "loss-cubic": whole["cubic"] / min(whole[version] for version in _except("cubic")),
    }


def _fig4(of: Outcomes) -> dict[str, float | None]:
    """The study's proxy uses Hybla towards the satellite."""
    if ("satellite-pep", "hybla") not in of:
        return {}
    proxy = {name: of[f"{name}-pep", "hybla"].delivered for name in ("satellite", "delay", "wired")}
    compound = {name: of[name, "compound"].delivered for name in proxy}
    after = {
        version: sum(of[name, version].phases[1:])
        for name, version in (("delay-pep", "hybla"), ("delay", "compound"))
    }
    others = _except("compound")
    return {
        "fig4-pep": proxy["satellite"] / max(of["satellite", one].delivered for one in _OLD),
        "fig4-all": proxy["satellite"] / max(of["satellite", one].delivered for one in others),
        "fig4-compound": compound["satellite"] / proxy["satellite"],
        "fig4-delay": compound["delay"] / proxy["delay"],
        "fig4-catch-up": after["hybla"] / after["compound"],
        "fig4-bandwidth": proxy["wired"] / compound["wired"],
    }


def _fig5(of: Outcomes) -> dict[str, float | None]:
    def worst(gap: int, version: str, way: str = "") -> float:
        return max(of[f"delay-{gap}{way}", version].restarts_s)

    others = [worst(500, version) for version in _except("compound")]
    proxy = ("delay-500-pep", "hybla") in of
    return {
        "fig5-others": sum(others) / len(others),
        "fig5-compound": worst(500, "compound"),
        "fig5-cubic": worst(1000, "cubic") - worst(500, "cubic"),
        "fig5-proxy": worst(500, "hybla", "-pep") if proxy else None,
    }


def _fig6(of: Outcomes) -> dict[str, float | None]:
    pauses = {version: max(of["bandwidth-1000", version].pauses_s) for version in VERSIONS}
    least = min(pauses[version] for version in _except("compound"))
    proxy = of.get(("bandwidth-1000-pep", "hybla"))
    longest = {gap: max(max(of[f"bandwidth-{gap}", one].pauses_s) for one in VERSIONS) for gap in (500, 1000)}
    return {
        "fig6-short": longest[500] - longest[1000],
        "fig6-others": least / pauses["compound"],
        "fig6-compound": pauses["compound"],
        "fig6-proxy": max(proxy.pauses_s) / pauses["compound"] if proxy else None,
    }
