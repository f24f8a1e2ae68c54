"""The tests ``voip`` and ``voip-causes`` over Skyplex DATA: rates of a call (figures 8 and 9),
jitter, and opinion scores under load (table II)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.data import FloatArray, trace_of
from bentpipe.plots.network import network
from bentpipe.plots.published import legend_entries, mark_level, mark_value
from bentpipe.plots.style import COLOURS, DASHES, figure_function, panels
from bentpipe.results.runs import Run
from bentpipe.statistics import mean_of
from bentpipe.studies import Reproduction, Statement, Table, bar, judge
from bentpipe.voice import emodel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: bentpipe's names of the paper's codecs.
CODECS: Final = {"GSM": "GSM-FR", "G.711a": "G.711a", "iLBC": "iLBC-30"}
#: Rates of the interfering UDP traffic of table II.
LOADS_MBIT_S: Final = (1.4, 1.2, 1.1, 0.75, 0.35)
#: The interfering traffic of figure 9, which fills the available bandwidth.
FULL_MBIT_S: Final = 1.4
#: The paper's results in table II, by codec, in the order of :data:`LOADS_MBIT_S`. "2/3" is a score
#: between 2 and 3.
PAPER: Final = {
    "GSM": ("X", "LAGGED", "2", "2/3", "3"),
    "G.711a": ("X", "LAGGED", "2/3", "3", "4"),
    "iLBC": ("X", "LAGGED", "2/3", "3", "3/4"),
}
#: Seeds of the runs of each case.
SEEDS: Final = (1, 2)
#: A call that is set up with a lower score than this is "LAGGED".
LAGGED: Final = 1.5
#: Maximum advantage factor A of G.107, for access to places that are hard to reach, over several
#: satellite hops.
ADVANTAGE: Final = 20.0
#: Parties of the conference.
PARTIES: Final = ("remote-1", "remote-2", "local-1", "local-2")
#: Columns of the conference's table for speech from a party to the bridge.
TO_BRIDGE: Final = ("late", "delay_mean", "mos_mean")
#: Columns of the conference's table for speech from the bridge to a party.
FROM_BRIDGE: Final = ("delay_mean", "mos_mean")
#: Size of a datagram of the load, in bytes.
DATAGRAM: Final = 1000
#: Override for a talker with rare pauses: 86 % of the time is speech, in talk spurts of 2 s.
TALKATIVE: Final = 'flow.calls.app.talker={kind="exponential",speech="2 s",pause="0.32 s"}'

#: Overrides for an unlimited queue before 28 of 48 slots, and a load that starts five minutes
#: before the call.
DEEP: Final = (
    'network.sat.cir="1232 kbit/s"',
    'network.sat.return.queue={kind="unlimited"}',
    'flow.calls.start="300 s"',
    'duration="540 s"',
    'flow.calls.app.playout={kind="fixed",delay="160 ms"}',
)
DEEP_LOADS_MBIT_S: Final = (1.4, 1.2, 1.1)

#: Numbers of simultaneous calls, which have at most 80 kbit/s each and share 1408 kbit/s.
SEVERAL: Final = (1, 10, 20, 30, 40, 50)

#: Time of the conversation.
TALKS_S: Final = (15, 300)

#: Name of a case, and seed.
Key = tuple[str, int]


def loaded(mbit_s: float) -> tuple[str, ...]:
    """Returns the overrides for interfering traffic with this rate of UDP payload."""
    rate = f'flow.load.app.rate="{round(mbit_s * 1e6)} bit/s"'
    return (rate, f'flow.load.app.datagram="{DATAGRAM} B"')


def cases() -> dict[str, tuple[str, ...]]:
    """Returns the overrides of each case of ``voip``, by name."""
    all_cases: dict[str, tuple[str, ...]] = {
        "sip": (),
        "iax": ('flow.calls.transport="iax2"',),
        "sip-loaded": loaded(0.75),
        "iax-loaded": ('flow.calls.transport="iax2"', *loaded(0.75)),
        "gsm": ('flow.calls.app.codec="GSM-FR"', "flow.calls.app.suppression=false"),
    }
    gsm = all_cases["gsm"]
    all_cases |= {
        "gsm-iax": (*gsm, 'flow.calls.transport="iax2"'),
        "gsm-sip-loaded": (*gsm, *loaded(FULL_MBIT_S)),
        "gsm-iax-loaded": (*gsm, 'flow.calls.transport="iax2"', *loaded(FULL_MBIT_S)),
    }
    for count in SEVERAL:
        all_cases[f"several-{count}"] = (f"flow.calls.app.calls={count}",)
    for name, codec in CODECS.items():
        for load in LOADS_MBIT_S:
            all_cases[f"{name}-{load}"] = (f'flow.calls.app.codec="{codec}"', *loaded(load))
    return all_cases


def causes() -> dict[str, tuple[str, ...]]:
    """Returns the overrides of each case of ``voip-causes``, by name."""
    return {
        "talkative": (TALKATIVE,),
        "talkative-iax": ('flow.calls.transport="iax2"', TALKATIVE),
        "queue": ("network.sat.return.queue.packets=400", 'flow.calls.app.codec="G.711a"', *loaded(1.4)),
        "slots": ('network.sat.cir="352 kbit/s"',),
        **{
            f"deep-{name}-{load}": (*DEEP, f'flow.calls.app.codec="{codec}"', *loaded(load))
            for name, codec in CODECS.items()
            for load in DEEP_LOADS_MBIT_S
        },
        **{
            f"low-{name}": (f'flow.calls.app.codec="{codec}"', *loaded(LOADS_MBIT_S[-1]))
            for name, codec in CODECS.items()
        },
    }


def simulated(overrides: Mapping[str, tuple[str, ...]], test: str, out: Path, json: bool) -> dict[Key, Run]:
    """Runs each case with each seed and returns the runs."""
    jobs = {
        (name, seed): Job(f"voip-{name}-{seed}", HERE / "voip.toml", changes, seed)
        for name, changes in overrides.items()
        for seed in SEEDS
    }
    with bar(test, shown=not json) as progress:
        runs = run_all(list(jobs.values()), out / "runs", progress)
    return {key: runs[job] for key, job in jobs.items()}


def rates_kbit_s(run: Run) -> FloatArray:
    """Returns the rate of the caller's exchange during the conversation for each second, IP and UDP
    headers included."""
    time, rate = trace_of(run, "exchange.rate")["calls.source"]
    talks = (time > TALKS_S[0]) & (time < TALKS_S[1])
    return rate[talks] / 1e3


def heard(run: Run) -> Mapping[str, Any]:
    """Returns the row of the table ``calls`` for the endpoint that receives speech over the return
    link."""
    rows = run.table("calls").to_dicts()
    return next(row for row in rows if "destination" in str(row[next(iter(row))]))


def called(run: Run) -> Mapping[str, Any]:
    """Returns the row of the table ``calls`` for the calling endpoint."""
    rows = run.table("calls").to_dicts()
    return next(row for row in rows if "source" in str(row[next(iter(row))]))


def jitter_ms(run: Run) -> FloatArray:
    """Returns the interarrival jitter (RFC 3550, section 6.4.1) after each speech packet that
    arrives over the return link."""
    rows = run.trace("call_speech", "calls.destination").sort("time")
    transit = np.diff((rows["time"] - rows["spoken"]).to_numpy())
    jitters, jitter = np.zeros(len(transit)), 0.0
    for number, difference in enumerate(np.abs(transit)):
        jitter += (float(difference) - jitter) / 16
        jitters[number] = jitter * 1e3
    return jitters


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulates calls with each codec, protocol and load, and judges the statements."""
    runs = simulated(cases(), "voip", out, json)
    rate = {
        name: np.concatenate([rates_kbit_s(runs[name, seed]) for seed in SEEDS]) for name in _rated(cases())
    }
    ours: dict[str, float | None] = {
        "voip-g711-mean": round(float(rate["sip"].mean()), 3),
        "voip-g711-deviation": round(float(rate["sip"].std()), 3),
        "voip-gsm-constant": round(float(rate["gsm"].std() / rate["gsm"].mean()), 5),
        "voip-sip-iax": round(float(rate["gsm"].mean() / rate["gsm-iax"].mean()), 4),
        "voip-sip-iax-loaded": round(float(rate["gsm-sip-loaded"].mean() / rate["gsm-iax-loaded"].mean()), 4),
        "voip-g711-sip-iax": round(float(rate["sip"].mean() / rate["iax"].mean()), 4),
        "voip-g711-sip-iax-loaded": round(float(rate["sip-loaded"].mean() / rate["iax-loaded"].mean()), 4),
    }
    jitters = np.concatenate([jitter_ms(runs["sip", seed]) for seed in SEEDS])
    ours["voip-jitter"] = round(float(jitters.mean()), 3)
    ours["voip-jitter-deviation"] = round(float(jitters.std()), 3)
    rows = []
    set_up, better = [], []
    opinions: dict[str, Mapping[float, tuple[str, float, float]]] = {}
    for name in CODECS:
        row = [name]
        outcomes = opinions[name] = {
            load: opinion([runs[f"{name}-{load}", seed] for seed in SEEDS]) for load in LOADS_MBIT_S
        }
        set_up.append(outcomes[1.2][2])
        better.append(min(outcomes[load][1] for load in LOADS_MBIT_S[2:]) - outcomes[1.2][1])
        for load, paper in zip(LOADS_MBIT_S, PAPER[name], strict=True):
            outcome, score, answered = outcomes[load]
            row.append(f"{outcome} ({paper})")
            statement = f"voip-{_word(name)}-{_word(load)}"
            ours[statement] = round(answered if paper == "X" else score, 3)
        rows.append(row)
    ours["voip-connects-12"] = round(min(set_up), 3)
    ours["voip-improves"] = round(min(better), 3)
    scores = Table(
        "Mean opinion scores by the E-model, with the paper's in brackets, against interfering UDP. "
        f"X: no call is set up; LAGGED: it is, with a score below {LAGGED}",
        ["codec", *(f"{load} Mbit/s" for load in LOADS_MBIT_S)],
        rows,
    )
    courses = {name: rates_kbit_s(runs[name, SEEDS[0]]) for name in _OF_GSM}
    figures = {
        "figure-06-calls": network(HERE / "voip.toml"),
        "conference": network(HERE / "voip-conference.toml"),
        "figure-08-voip": draw_distribution(rate, statements),
        "figure-09-voip-sip-iax": draw_courses(courses, statements),
        "table-ii-opinions": draw_opinions(opinions, statements),
    }
    tables = [
        scores,
        several(runs),
        conference(out, json),
    ]
    return Reproduction(judge(statements, ours), figures=figures, tables=tables)


def several(runs: Mapping[Key, Run]) -> Table:
    """Returns the table of the speech that arrives over the return link, by the number of
    simultaneous calls."""
    rows = []
    for count in SEVERAL:
        of = [(called(run), heard(run)) for seed in SEEDS for run in [runs[f"several-{count}", seed]]]
        answered = np.mean([call["answered"] for call, _ in of])
        means = [np.mean([ear[key] for _, ear in of]) for key in ("loss", "late", "delay_mean", "mos_mean")]
        rows.append([str(count), f"{answered:g}", *(f"{mean:.3g}" for mean in means)])
    return Table(
        "Several calls of G.711u at once",
        ["calls", "answered", "lost", "late", "delay (s)", "MOS"],
        rows,
    )


def _rated(of: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [name for name in of if not name[-1].isdigit()]


def opinion(runs: Sequence[Run]) -> tuple[str, float, float]:
    """Returns the outcome as text like in table II, the mean score, and the fraction of calls that
    were answered."""
    answered = float(np.mean([called(run)["answered"] / called(run)["attempts"] for run in runs]))
    if answered == 0:
        return "X", 1.0, 0.0
    score = float(np.nanmean([heard(run)["mos_mean"] for run in runs]))
    return ("LAGGED" if score < LAGGED else f"{score:.1f}"), score, answered


def explain(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulates the cases of ``voip-causes`` and judges the statements."""
    runs = simulated(causes(), "voip-causes", out, json)
    talkative = np.concatenate([rates_kbit_s(runs["talkative", seed]) for seed in SEEDS])
    answered = [
        called(runs["queue", seed])["answered"] / called(runs["queue", seed])["attempts"] for seed in SEEDS
    ]
    ours: dict[str, float | None] = {
        "voip-talkative-mean": round(float(talkative.mean()), 3),
        "voip-talkative-deviation": round(float(talkative.std()), 3),
        "voip-queue": round(mean_of(answered).value, 3),
    }
    jitters = np.concatenate([jitter_ms(runs["slots", seed]) for seed in SEEDS])
    ours["voip-slots-jitter"] = round(float(jitters.mean()), 3)
    ours["voip-slots-jitter-deviation"] = round(float(jitters.std()), 3)
    for name in CODECS:
        for load in DEEP_LOADS_MBIT_S:
            _, score, set_up = opinion([runs[f"deep-{name}-{load}", seed] for seed in SEEDS])
            ours[f"voip-deep-{_word(name)}-{_word(load)}"] = round(set_up if load == 1.4 else score, 3)
        call = heard(runs[f"low-{name}", SEEDS[0]])
        loss, delay = 100 * (call["loss"] + call["late"]), 1e3 * call["delay_mean"]
        listening = emodel.rate(CODECS[name], Ppl=loss)
        excused = emodel.rate(CODECS[name], Ppl=loss, T=delay, Ta=delay, Tr=2 * delay, A=ADVANTAGE)
        ours[f"voip-listening-{_word(name)}-035"] = round(listening.MOS, 3)
        ours[f"voip-advantage-{_word(name)}-035"] = round(excused.MOS, 3)
    return Reproduction(judge(statements, ours))


def _word(value: object) -> str:
    """Returns a codec or a load as in the ids of statements."""
    return str(value).lower().replace(".", "")


def conference(out: Path, json: bool) -> Table:
    """Simulates a conference of local and remote parties, and returns the table of the speech to
    and from the bridge."""
    jobs = [Job(f"voip-conference-{seed}", HERE / "voip-conference.toml", (), seed) for seed in SEEDS]
    with bar("voip-conference", shown=not json) as progress:
        done = run_all(jobs, out / "runs", progress)
    runs = [done[job] for job in jobs]
    rows = []
    for party in PARTIES:
        values = []
        # Speech of the party at the bridge, and speech of the other parties at the party.
        for end, columns in (("destination", TO_BRIDGE), ("source", FROM_BRIDGE)):
            ends = [
                next(row for row in run.table("calls").to_dicts() if f"{party}.{end}" in row.values())
                for run in runs
            ]
            values += [float(np.mean([row[column] for row in ends])) for column in columns]
        rows.append([party, *(f"{value:.3g}" for value in values)])
    wait = np.mean([run.table("bridge").to_dicts()[0]["delay_mean"] for run in runs]) * 1e3
    return Table(
        "A conference at the gateway's exchange: two parties behind Skyplex DATA, the first beside 400 kbit/s of UDP, "
        "and two at the gateway's site. What the exchange hears of each, and each of the others. A packet waits "
        f"{wait:.0f} ms for the mix on average, which the delays do not contain",
        [
            *("party", "late", "to bridge (s)", "MOS there", "from bridge (s)", "MOS"),
        ],
        rows,
    )


@figure_function
def draw_distribution(rates: Mapping[str, FloatArray], statements: Sequence[Statement]) -> Figure:
    """Draws figure 8: the distribution of the rate of a call. Marks: the paper's mean, and its
    mean plus a standard deviation."""
    figure, (axes,) = panels([3.0])
    edges = [2.5 * edge for edge in range(44)]
    labels = {"sip": "G.711u, SIP", "iax": "G.711u, IAX2", "gsm": "GSM, SIP"}
    for (name, label), colour, dashes in zip(labels.items(), COLOURS, DASHES, strict=False):
        of, mean, deviation = rates[name], rates[name].mean(), rates[name].std()
        axes.hist(
            of,
            edges,
            weights=np.full(len(of), 1 / len(of)),
            histtype="step",
            color=colour,
            linestyle=dashes,
            label=f"{label}: {mean:.1f} ± {deviation:.1f} kbit/s",
        )
    paper = {statement.id: statement for statement in statements}
    axes.set_xlim(0, edges[-1])
    if (mean_of_paper := paper.get("voip-g711-mean")) is not None:
        mark_level(axes, mean_of_paper, along="x", colour=COLOURS[0], note="paper: mean")
        if (deviation := paper.get("voip-g711-deviation")) is not None:
            height = 0.6 * axes.get_ylim()[1]
            begin, end = mean_of_paper.value, mean_of_paper.value + deviation.value
            axes.plot([begin, end], [height] * 2, color=COLOURS[0], linewidth=0.8)
            mark_value(axes, deviation, height, along="x", base=begin, colour=COLOURS[0])
            axes.annotate(
                "mean + deviation",
                (end, height),
                (0, 8),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
            )
    axes.set_title("Rate of a call over each second, in steps of 2.5 kbit/s (mean ± deviation)")
    axes.set_ylabel("fraction of seconds")
    axes.set_xlabel("rate at the network layer (kbit/s)")
    figure.legend(handles=legend_entries(axes), loc="outside lower center", ncols=2)
    return figure


#: The cases of figure 9: without and with interfering traffic over SIP, and over IAX2.
_OF_GSM: Final = ("gsm", "gsm-sip-loaded", "gsm-iax", "gsm-iax-loaded")


@figure_function
def draw_courses(rates: Mapping[str, FloatArray], statements: Sequence[Statement]) -> Figure:
    """Draws figure 9: the rate of a call with GSM over SIP and over IAX2 against time, without and
    with interfering traffic. Marks: the mean rate over IAX2 times the paper's ratio, without the
    traffic in the first half, and with it in the second."""
    figure, both = panels([2.0, 2.0])
    paper = {statement.id: statement for statement in statements}
    # The curves overlap.
    styles: list[dict[str, Any]] = [{"linewidth": 3.5, "alpha": 0.4}, {"linewidth": 0.8}]
    for axes, title, names in zip(
        both, ("9a: GSM over SIP", "9b: GSM over IAX2"), (_OF_GSM[:2], _OF_GSM[2:]), strict=True
    ):
        for name, colour, label, style in zip(
            names,
            COLOURS,
            ("alone", f"beside {FULL_MBIT_S} Mbit/s of UDP"),
            styles,
            strict=False,
        ):
            seconds = TALKS_S[0] + 1 + np.arange(len(rates[name]))
            axes.plot(seconds, rates[name], color=colour, label=label, **style)
        axes.set_title(title)
        axes.set_ylabel("rate (kbit/s)")
        axes.set_xlim(0, TALKS_S[1])
        axes.set_ylim(0, None)
    middle = sum(TALKS_S) / 2
    for statement, part, name, colour in (
        ("voip-sip-iax", (TALKS_S[0], middle), "gsm-iax", COLOURS[0]),
        ("voip-sip-iax-loaded", (middle, TALKS_S[1]), "gsm-iax-loaded", COLOURS[1]),
    ):
        if statement in paper:
            mean = float(rates[name].mean())
            mark_level(
                both[0], paper[statement], part, colour=colour, scale=mean, note="paper: as IAX2", below=True
            )
    both[-1].set_xlabel("time (s)")
    both[0].legend(handles=legend_entries(both[0]), loc="lower right")
    return figure


@figure_function
def draw_opinions(
    opinions: Mapping[str, Mapping[float, tuple[str, float, float]]], statements: Sequence[Statement]
) -> Figure:
    """Draws table II: the mean opinion score and the fraction of calls that are set up against the
    rate of the interfering traffic, by codec. The codecs are next to each other."""
    figure, (above, below) = panels([3.0, 1.8])
    paper = {statement.id: statement for statement in statements}
    for number, (name, outcomes) in enumerate(opinions.items()):
        loads, colour = list(outcomes), COLOURS[number]
        at = np.arange(len(loads)) + 0.22 * (number - 1)
        for axes, index in ((above, 1), (below, 2)):
            values = [outcome[index] for outcome in outcomes.values()]
            axes.plot(at, values, "osD"[number], color=colour, markersize=4, label=name)
        for position, load in zip(at, loads, strict=True):
            if (statement := paper.get(f"voip-{_word(name)}-{_word(load)}")) is not None:
                # The statements about the highest load are about the calls that are set up.
                axes = below if load == LOADS_MBIT_S[0] else above
                mark_value(axes, statement, float(position), colour=colour)
    above.set_ylabel("mean opinion score")
    above.set_ylim(0.8, 5)
    below.set_ylabel("calls set up")
    below.set_ylim(-0.1, 1.1)
    below.set_xticks(range(len(LOADS_MBIT_S)), [f"{load:g}" for load in LOADS_MBIT_S])
    below.set_xlabel("interfering UDP (Mbit/s)")
    figure.legend(handles=legend_entries(above), loc="outside lower center", ncols=5)
    return figure
