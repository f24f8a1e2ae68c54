"""Generates the pages of ``docs/reference`` except the scenario keys, and the pages of the studies.

The reference is generated from the descriptions in the engine and the command line. The pages of
the studies are ``docs/studies.md``, and the tables of verdicts and lists of differing statements in
the studies' READMEs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from .markdown import GENERATED, page, table

if TYPE_CHECKING:
    from bentpipe.studies import Result


def results(
    tables: Mapping[str, Sequence[Mapping[str, Any]]], flows: Sequence[Mapping[str, str]]
) -> dict[str, str]:
    """Returns the pages about run folders and their tables; ``flows``: the columns of
    ``flows.parquet``."""
    traces = [part for one in tables["traces"] for part in _described(one)]
    reports = [part for one in tables["reports"] if one["entity"] != "flow" for part in _described(one)]
    return {
        "results.md": page(
            [
                "# Results",
                GENERATED,
                "A run writes its results into a folder:",
                table(["file", "content"], _RUN_FOLDER),
                "Tables are Parquet files; a missing value is null. In Python: `run.flows`, `run.table(NAME)`, "
                "`run.trace(QUANTITY)`.",
            ]
        ),
        "results/flows.md": page(
            [
                "# Flows: `flows.parquet`",
                GENERATED,
                "One row per flow.",
                _columns(flows),
                *_further(tables["reports"], {column["name"] for column in flows}),
            ]
        ),
        "results/reports.md": page(
            [
                "# Reports: `tables/NAME.parquet`",
                GENERATED,
                "One row per entity, at the end of the run. Reports about flows are joined in "
                "[`flows.parquet`](flows.md).",
                *reports,
            ]
        ),
        "results/traces.md": page(
            [
                "# Traces: `traces/NAME.parquet`",
                GENERATED,
                "Two columns precede the listed ones: `time`, in nanoseconds since the start of the run (in "
                "seconds in `run.trace`), and the name of the entity. `record.traces` selects the traces of "
                "a run.",
                *traces,
            ]
        ),
    }


_RUN_FOLDER: Final = (
    ("`flows.parquet`", "[one row per flow](results/flows.md): goodput, delays, losses"),
    ("`tables/NAME.parquet`", "[reports](results/reports.md): one row per link, terminal, call, ..."),
    ("`traces/NAME.parquet`", "[traces](results/traces.md): one row per event, with its time"),
    ("`summary.json`", "all reports as JSON"),
    ("`scenario.toml`", "the scenario of the run, with every default"),
    ("`provenance.json`", "versions, seed and machine, and a mark if the run is incomplete"),
    ("`fidelity.json`", "emulations only: accuracy and verdict"),
    (
        "`.reuse.json`",
        "complete runs of `--vary` or of a study only: the inputs that identify the run for reuse",
    ),
    ("`packets.pcapng`", "captured packets, if `record.capture` is set"),
    (
        "`report.html`",
        "the report, a self-contained page that `bentpipe report` or `--report` writes",
    ),
)


def _further(reports: Sequence[Mapping[str, Any]], shown: set[str]) -> Iterator[str]:
    """Yields the description of flow columns that only some runs have."""
    yield (
        "Some runs have further columns. If a flow can have several rows, these columns are in a separate table "
        "with the name of their section:"
    )
    for one in reports:
        if one["entity"] == "flow" and not shown.issuperset(column["name"] for column in one["columns"]):
            yield from _described(one)


def _described(one: Mapping[str, Any]) -> list[str]:
    return [f"## {one['name']}", f"Per {one['entity']}, {one['about']}.", _columns(one["columns"])]


def _columns(columns: Sequence[Mapping[str, str]]) -> str:
    return table(["column", "unit", "meaning"], [[f"`{c['name']}`", c["unit"], c["about"]] for c in columns])


def presets(listed: Sequence[tuple[str, str, str]]) -> str:
    """Returns the page of the presets, each with its text."""
    parts = [
        "# Presets",
        GENERATED,
        'A preset is a part of a scenario that the scenario file completes and overrides: `preset = "NAME"`, or a '
        "list of names, in which later presets override earlier ones. `bentpipe new NAME` writes a scenario based "
        "on a preset.",
    ]
    for name, about, text in listed:
        parts += [f"## {name}", f"{about}.", f"```toml\n{text.strip()}\n```"]
    return page(parts)


def profiles(about: Mapping[str, str], values: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the page that compares the TCP profiles."""
    keys = sorted({key for of in values.values() for key in of} - {"kind", "profile"})
    rows = [[f"`{key}`", *(f"`{json.dumps(of.get(key))}`" for of in values.values())] for key in keys]
    differing = [row for row in rows if len(set(row[1:])) > 1]
    common = [row[:2] for row in rows if len(set(row[1:])) == 1]
    parts = [
        "# Profiles of TCP",
        GENERATED,
        'The values of a flow with `transport = { kind = "tcp", profile = "NAME" }`. Further keys in this table '
        "override the profile. [Transport: `tcp`](scenario/transport-tcp.md) explains the keys.",
        "\n".join(f"- `{name}`: {' '.join(text.split())}" for name, text in about.items()),
        "## Differences",
        table(["key", *values], differing),
        "## Common values",
        table(["key", "value"], common),
    ]
    return page(parts)


def congestion(variants_listed: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Returns the overview page, and the page of each congestion control with its parameters."""
    rows = [
        [f"[{one['name']}](congestion/{one['name']}.md)", one["about"], ", ".join(one["homes"])]
        for one in variants_listed
    ]
    pages = {
        "congestion.md": page(
            [
                "# Congestion controls",
                GENERATED,
                'A flow selects its congestion control by `transport = { kind = "tcp", congestion = "NAME", parameters '
                "= { ... } }`. Each congestion control is one C file in `crates/congestion/variants`, compiled into "
                "the engine and into an object for the Linux kernel (as `bp_NAME`). On real hosts, `linux-NAME` "
                "selects the running kernel's own congestion control. `bentpipe variants` lists them, and `bentpipe "
                "variants NAME` describes one.",
                table(["name", "description", "homes"], rows),
                "![The window of each variant, simulated and in a kernel, over GEO and LEO](../pictures/variants.png)",
            ]
        )
    }
    for variant in variants_listed:
        parts = [
            f"# {variant['name']}",
            GENERATED,
            f"{variant['about']}. Runs in: {', '.join(variant['homes'])}.",
        ]
        parts.append(f"```text\n{variant['head']}\n```")
        if variant["parameters"]:
            rows = [
                [f"`{one['name']}`", f"{one['min']} to {one['max']}", str(one["default"]), one["about"]]
                for one in variant["parameters"]
            ]
            parts.append(table(["parameter", "range", "default", "meaning"], rows))
        pages[f"congestion/{variant['name']}.md"] = page(parts)
    return pages


def command_line(helps: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Returns the pages of the help of every command, one page per group."""
    pages = {}
    contents = []
    for group, texts in helps.items():
        file = f"command-line/{group.lower().replace(' ', '-')}.md"
        if group:
            names = ", ".join(f"[{name}]({file}#{name.replace(' ', '-')})" for name in texts)
            contents.append(f"- {group}: {names}")
            sections = [part for name, text in texts.items() for part in (f"## {name}", _help(text))]
            pages[file] = page([f"# {group}", GENERATED, *sections])
    pages["command-line.md"] = page(
        [
            "# Command line",
            GENERATED,
            "Exit codes: 0 for success; 1 for a failure of the machine, or for a study with a statement that is not "
            "reproduced; 2 for invalid input; 130 and 143 after Ctrl-C and SIGTERM.",
            "\n".join(contents),
            *map(_help, helps[""].values()),
        ]
    )
    return pages


def _help(text: str) -> str:
    return f"```text\n{text.strip()}\n```"


def studies() -> str:
    """Returns the page of the recorded verdicts of all studies."""
    from bentpipe import studies as library
    from bentpipe.studies.recording import COUNTED
    from bentpipe.studies.recording import counts as count

    summary = library.summary()
    parts = [
        "# Reproduced studies",
        GENERATED,
        "Does bentpipe reproduce published experiments? `bentpipe reproduce STUDY` repeats the experiments of a paper "
        "and judges each claim of the paper. A claim is a number or a comparison with a tolerance. The command writes "
        "a page with the set-up, and with each figure next to the statements about it. `--figure 9` draws one figure. "
        "This page counts the recorded verdicts, and the site has the page of each study. "
        "Complete runs stay in `runs/STUDY`. They are reused as long as the scenario and the engine are unchanged. "
        "Delete the folder to free the space.",
        _VERDICTS,
        _FIGURE,
        table(summary.header, summary.rows),
    ]
    for name, folder in library.known().items():
        described = library.description(folder)
        counts = []
        for test, result in library.recorded(folder).items():
            if result.verdicts:
                counts.append([test, described.tests.get(test, ""), *map(str, count(result.verdicts))])
        parts += [
            f"## {name}: {described.title}",
            # Links of the README are relative to the study's folder.
            described.about.replace("](../../docs/", "]("),
            f"Figures and statements on one page: `studies/{name}.html` in the site. "
            f"[Set-up and results](../studies/{folder.name}/README.md), "
            f"[statements that differ, with causes](../studies/{folder.name}/README.md#statements-that-differ)",
            table(["test", "content", *COUNTED], counts),
        ]
    return page(parts)


_VERDICTS: Final = """| verdict | meaning |
| --- | --- |
| holds | our value is within the statement's tolerance |
| known to differ | our value is outside the tolerance, and an experiment has shown the cause |
| differs | our value is outside the tolerance, and the cause is only suspected or unknown |
| not measured | the study has no value for the statement |

Each study's README describes its assumptions and experiments. Its `published.csv` has the tolerances and causes. A test
named `...-causes` repeats statements with one assumption changed, to find the cause of a difference.

Only claims of the papers are counted. Three kinds of statements are listed separately. A *variation* repeats a claim
with another assumption, another TCP stack or another clock. A statement *by construction* cannot fail, because the
model is built from its value. A *repeat* follows from another claim by arithmetic."""

_FIGURE: Final = """<!-- drawn by
from bentpipe import studies
from matplotlib.figure import Figure

header, rows = studies.summary().header, studies.summary().rows[:-1]
figure = Figure(figsize=(7.2, 2.6), layout="constrained")
axes = figure.subplots()
names, left = [row[0] for row in rows], [0] * len(rows)
for outcome in studies.OUTCOMES:
    values = [int(row[header.index(outcome)]) for row in rows]
    axes.barh(names, values, left=left, label=outcome)
    left = [start + value for start, value in zip(left, values)]
axes.invert_yaxis()
axes.set_xlabel("claims")
axes.legend(loc="center right")
-->

![Claims by verdict](pictures/studies.png)

*Claims of the papers by verdict.*"""


def readmes() -> dict[str, str]:
    """Returns the studies' READMEs with the recorded tables of verdicts and lists of differing
    statements."""
    from bentpipe import studies as library
    from bentpipe.studies.recording import with_tables

    texts = {}
    for folder in library.known().values():
        results = library.recorded(folder)
        listed = _differing(results.values())
        text = with_tables((folder / "README.md").read_text(encoding="utf-8"), results)
        begin, marker, rest = text.partition("<!-- differing -->\n")
        _, end, after = rest.partition("<!-- end -->")
        texts[f"studies/{folder.name}/README.md"] = (
            f"{begin}{marker}{listed}\n{end}{after}" if marker else text
        )
    return texts


def _differing(results: Iterable[Result]) -> str:
    rows = [
        [verdict.as_row()[0], result.test, verdict.as_row()[-1], one.deviation or one.suspected]
        for result in results
        for verdict in result.verdicts
        for one in [verdict.statement]
        if verdict.outcome != "holds"
    ]
    return table(["statement", "test", "verdict", "cause, or suspicion"], rows)


def parity(cases: Sequence[Any], in_memory: float) -> str:
    """Returns the page of the cases in which tests compare simulation and emulation."""
    rows = [
        [
            case.name,
            case.duration,
            str(case.seeds),
            f"{case.tolerance:.0%}",
            "yes" if case.in_memory else "",
            ", ".join(case.quantities),
        ]
        for case in cases
    ]
    exceptions = [
        [case.name, quantity, f"{special.tolerance:.0%}", special.reason]
        for case in cases
        for quantity, special in case.exceptions.items()
    ]
    parts = [
        "# Parity of simulation and emulation",
        GENERATED,
        "Each case is a scenario that `make test` runs in virtual time with model endpoints and in real time with the "
        "Linux kernel's own sockets. The quantities of each flow must agree within the tolerance. If a quantity may "
        "differ by more, its physical reason is listed under Exceptions. Several seeds are compared by their mean. "
        "Cases in memory run again in real time, without privileges, with the model endpoints behind ports in memory; "
        f"all quantities must then agree within {in_memory:.0%}. All cases also run in virtual time with the sockets "
        "of a separate kernel (`make test-kernel`, [real kernels in virtual time](../kernel.md)).",
        table(["case", "length", "seeds", "tolerance", "in memory", "quantities"], rows),
        "`make test-variants` compares every congestion control in the engine with the same C file in the kernel. The "
        "conditions are a GEO link with a loss of 0, 0.1 % and 1 %, DVB-RCS with VBDC, and a link whose delay follows "
        "satellites. It also compares Compound, which Linux does not have, over a soft handover without loss "
        "(`handover-slower`).",
        "## Exceptions",
        table(["case", "quantity", "tolerance", "reason"], exceptions),
        "## Scenarios",
        *(f"```toml\n{case.text.strip()}\n```" for case in cases),
    ]
    return page(parts)
