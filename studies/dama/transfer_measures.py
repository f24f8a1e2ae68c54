"""Our measured values for T_IV and T_V, by the ids of published.csv, and their tables."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from bentpipe.statistics import Mean
from bentpipe.studies import Table

from .curves import CONGESTIONS, SCHEMES, Scheme
from .sharing_measures import rounded
from .transfers import PAGES, SIZES_MB, Bar, File, Transfer


def measure_files(transfers: Mapping[File, Transfer]) -> dict[str, float | None]:
    """Returns the values for T_IV."""
    ours: dict[str, float | None] = {}
    for scheme in SCHEMES:
        of_scheme = [one for file, one in transfers.items() if file.scheme == scheme]
        ours[f"file-{scheme}"] = max(abs(one.deviation_percent) for one in of_scheme)
    efficiency = {scheme: transfers[File(scheme, 1)].efficiency_percent for scheme in SCHEMES}
    ours["file-eff-cra"] = efficiency["cra"]
    ours["file-eff-order"] = min(
        efficiency["vbdc"] - efficiency["rbdc"], efficiency["rbdc"] - efficiency["cra"]
    )
    for scheme in SCHEMES[1:]:
        ours[f"file-longer-{scheme}"] = _longer_percent(transfers, scheme, slot=True)
    times = {scheme: transfers[File(scheme, 12)].simulated_s for scheme in SCHEMES}
    ours["file-time-order"] = min(times["vbdc"] - times["rbdc"], times["rbdc"] - times["cra"])
    return rounded(ours)


def measure_files_without_slot(transfers: Mapping[File, Transfer]) -> dict[str, float | None]:
    """Returns the values of T_IV-causes for files without the constant slot. ``transfers`` includes
    the files over CRA, with which they are compared."""
    ours: dict[str, float | None] = {}
    for scheme in SCHEMES[1:]:
        ours[f"no-slot-file-longer-{scheme}"] = _longer_percent(transfers, scheme, slot=False)
        of_scheme = [one for file, one in transfers.items() if file.scheme == scheme]
        ours[f"no-slot-file-{scheme}"] = max(abs(one.deviation_percent) for one in of_scheme)
    return rounded(ours)


def measure_forward_files(transfers: Mapping[File, Transfer]) -> dict[str, float | None]:
    """Returns the value for files on the forward link: the greater of the additional times over
    RBDC and VBDC."""
    longer = [_longer_percent(transfers, scheme, slot=True, forward=True) for scheme in SCHEMES[1:]]
    return rounded({"file-forward": max(longer)})


def _longer_percent(
    transfers: Mapping[File, Transfer], scheme: Scheme, *, slot: bool, forward: bool = False
) -> float:
    """Returns the additional transfer time compared with CRA in percent, as the mean over all
    sizes."""
    ratios = [
        transfers[File(scheme, size, slot, forward)].simulated_s
        / transfers[File("cra", size, forward=forward)].simulated_s
        for size in SIZES_MB
    ]
    return 100 * (fmean(ratios) - 1)


def measure_pages(pages: Mapping[Bar, Mean], prefix: str = "") -> dict[str, float | None]:
    """Returns the values for T_V: transfer times of the smallest and largest pages, and VBDC
    relative to CRA for the largest page. ``prefix`` starts each id."""
    ours: dict[str, float | None] = {}
    for congestion in CONGESTIONS:
        for scheme in SCHEMES:
            ours[f"{prefix}page-small-{congestion}-{scheme}"] = pages[congestion, scheme, "34.5 kB"].value
        cra, vbdc = (pages[congestion, scheme, "440 kB"].value for scheme in ("cra", "vbdc"))
        ours[f"{prefix}page-suffices-{congestion}"] = vbdc / cra
    ours[f"{prefix}page-large-reno-cra"] = pages["reno", "cra", "440 kB"].value
    ours[f"{prefix}page-large-vegas-vbdc"] = pages["vegas", "vbdc", "440 kB"].value
    return rounded(ours)


def measure_page_comparisons(pages: Mapping[Bar, Mean]) -> dict[str, float | None]:
    """Returns the values of T_V that compare schemes, congestion controls and sizes of pages."""
    ours: dict[str, float | None] = {}
    times = {
        page: {
            (congestion, scheme): pages[congestion, scheme, page].value  # type: ignore[index]
            for congestion in CONGESTIONS
            for scheme in SCHEMES
        }
        for page in PAGES
    }
    spread = [max(of.values()) / min(of.values()) for of in times.values()]
    ours["page-spread-small"] = spread[0]
    ours["page-spread-grows"] = min(spread[1] - spread[0], spread[2] - spread[1])
    vegas = [[of["vegas", scheme] / of["reno", scheme] for scheme in SCHEMES] for of in times.values()]
    means = [fmean(ratios) for ratios in vegas]
    ours["page-vegas-grows"] = min(means[1] - means[0], means[2] - means[1])
    ours["page-worse-vegas"] = fmean(means)
    reno = [[of["reno", scheme] for scheme in SCHEMES] for of in times.values()]
    ours["page-independent-reno"] = max(reno[0]) / min(reno[0])
    return rounded(ours)


def table_of_files(transfers: Mapping[File, Transfer]) -> Table:
    """Returns the table of the simulated and predicted transfer times of every file."""
    rows = [
        [
            file.scheme.upper(),
            f"{file.size_mb}",
            f"{one.rtt_s * 1e3:.0f}",
            f"{one.simulated_s:.1f}",
            f"{one.equation_s:.1f}",
            f"{one.deviation_percent:+.1f}",
            f"{one.counted_s:.1f}",
            f"{one.predicted_s:.1f}",
        ]
        for file, one in transfers.items()
    ]
    header = ["scheme", "MB", "RTT ms", "simulated s", "eq. 9 s", "differs %", "counted s", "eq. 9 to 11 s"]
    about = (
        "Files on the return link (figure 21): time as simulated; equation 9 with the mean RTT as simulated, and by "
        "how much it differs; the same with its round trips counted; equations 9 to 11 alone"
    )
    return Table(about, header, rows)


def table_of_pages(pages: Mapping[Bar, Mean]) -> Table:
    """Returns the table of the bars of figure 22."""
    rows = [
        [
            congestion.capitalize(),
            scheme.upper(),
            *(value.text(1) for value in of),
        ]
        for congestion in CONGESTIONS
        for scheme in SCHEMES
        for of in [[pages[congestion, scheme, page] for page in PAGES]]  # type: ignore[index]
    ]
    about = (
        "Pages on the forward link (figure 22): seconds, means over 40 pages with 95 % confidence intervals"
    )
    return Table(about, ["congestion", "scheme", *PAGES], rows)
