"""``docs/reference/*.md`` but the keys of scenarios, from the descriptions in the engine and the command line, and
``docs/studies.md`` with the lists of statements that differ in the studies' READMEs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from .markdown import GENERATED, page, table


def results(
    tables: Mapping[str, Sequence[Mapping[str, Any]]], flows: Sequence[Mapping[str, str]]
) -> dict[str, str]:
    """Returns the pages of every table of a run folder; ``flows`` are the columns of ``flows.parquet``."""
    traces = [part for one in tables["traces"] for part in _described(one)]
    reports = [part for one in tables["reports"] if one["entity"] != "flow" for part in _described(one)]
    return {
        "results.md": page(
            [
                "# Results",
                GENERATED,
                "A run is a folder:",
                table(["file", "what it holds"], _RUN_FOLDER),
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
                "Before the columns shown come `time`, nanoseconds since the start of the run (seconds in "
                "`run.trace`), and the name of the entity. `record.traces` says which are written.",
                *traces,
            ]
        ),
    }


_RUN_FOLDER: Final = (
    ("`flows.parquet`", "[one row per flow](results/flows.md): goodput, delays, losses"),
    ("`tables/NAME.parquet`", "[reports](results/reports.md): one row per link, terminal, call, ..."),
    ("`traces/NAME.parquet`", "[traces](results/traces.md): what happened, with the time of each event"),
    ("`summary.json`", "all reports as JSON"),
    ("`scenario.toml`", "the scenario as it was run, complete with every default"),
    ("`provenance.json`", "versions, seed and machine, and whether the run is complete"),
    ("`fidelity.json`", "of an emulation: its accuracy and verdict"),
    ("`.reuse.json`", "of a complete run of `--vary` or of a study: what identifies it, for reuse"),
    ("`packets.pcapng`", "captured packets, if `record.capture` asks for them"),
    (
        "`report.html`",
        "the report, a page that needs nothing else; `bentpipe report` or `--report` writes it",
    ),
)


def _further(reports: Sequence[Mapping[str, Any]], shown: set[str]) -> Iterator[str]:
    """Returns the columns of flows that only some runs have."""
    yield "Some runs have more columns (where a flow has several rows, they are a table of the name given here):"
    for one in reports:
        if one["entity"] == "flow" and not shown.issuperset(column["name"] for column in one["columns"]):
            yield from _described(one)


def _described(one: Mapping[str, Any]) -> list[str]:
    return [f"## {one['name']}", f"Per {one['entity']}, {one['about']}.", _columns(one["columns"])]


def _columns(columns: Sequence[Mapping[str, str]]) -> str:
    return table(["column", "unit", "meaning"], [[f"`{c['name']}`", c["unit"], c["about"]] for c in columns])


def presets(listed: Sequence[tuple[str, str, str]]) -> str:
    """Every preset with its text."""
    parts = [
        "# Presets",
        GENERATED,
        'A preset is a fragment of a scenario that stands below the file: `preset = "NAME"`, or a list of them, '
        "the later over the earlier. `bentpipe new NAME` writes a scenario on top of one.",
    ]
    for name, about, text in listed:
        parts += [f"## {name}", f"{about}.", f"```toml\n{text.strip()}\n```"]
    return page(parts)


def profiles(about: Mapping[str, str], values: Mapping[str, Mapping[str, Any]]) -> str:
    """The profiles of TCP side by side."""
    keys = sorted({key for of in values.values() for key in of} - {"kind", "profile"})
    rows = [[f"`{key}`", *(f"`{json.dumps(of.get(key))}`" for of in values.values())] for key in keys]
    differing = [row for row in rows if len(set(row[1:])) > 1]
    alike = [row[:2] for row in rows if len(set(row[1:])) == 1]
    parts = [
        "# Profiles of TCP",
        GENERATED,
        'What a flow has that says no more than `transport = { kind = "tcp", profile = "NAME" }`; each key may be set '
        "beside it. What the keys mean: [Transport: `tcp`](scenario/transport.md#transport-tcp).",
        "\n".join(f"- `{name}`: {' '.join(text.split())}" for name, text in about.items()),
        "## In what they differ",
        table(["key", *values], differing),
        "## What all have",
        table(["key", "value"], alike),
    ]
    return page(parts)


def congestion(variants_listed: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Returns the pages of every congestion control, with its parameters."""
    rows = [
        [f"[{one['name']}](congestion/{one['name']}.md)", one["about"], ", ".join(one["homes"])]
        for one in variants_listed
    ]
    pages = {
        "congestion.md": page(
            [
                "# Congestion controls",
                GENERATED,
                '`transport = { kind = "tcp", congestion = "NAME", parameters = { ... } }`. Each is one C file in '
                "`crates/congestion/variants`, compiled into the engine and into an object for the Linux kernel (as "
                "`bp_NAME`). "
                "For real hosts `linux-NAME` is the running kernel's own. `bentpipe variants` and `bentpipe variants "
                "NAME` show them.",
                table(["name", "what it is", "homes"], rows),
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
            "Exit codes: 0 when all is well; 1 for trouble with the machine, or a study with a statement that does not "
            "come out; 2 for bad input; 130 and 143 after Ctrl-C and SIGTERM.",
            "\n".join(contents),
            *map(_help, helps[""].values()),
        ]
    )
    return pages


def _help(text: str) -> str:
    return f"```text\n{text.strip()}\n```"


def studies() -> str:
    """The recorded outcomes of all studies. The statements that differ are in the studies' READMEs."""
    from bentpipe import studies as of

    summary = of.summary()
    parts = [
        "# Reproduced studies",
        GENERATED,
        "Does bentpipe reproduce published experiments? `bentpipe reproduce STUDY` repeats one and judges each "
        "statement of the paper. This page counts the verdicts of the last recorded runs. Complete runs stay in "
        "`runs/STUDY` and are reused while scenario and engine are the same; delete the folder to free the space.",
        _VERDICTS,
        _FIGURE,
        table(summary.header, summary.rows),
    ]
    for name, folder in of.known().items():
        title, about, *_ = (folder / "README.md").read_text(encoding="utf-8").split("\n\n")
        rows = of.recorded(folder)
        counts = [
            [test, str(len(cells)), *(str([cell[-1] for cell in cells].count(one)) for one in of.OUTCOMES)]
            for test, cells in rows.items()
        ]
        parts += [
            f"## {name}: {title.removeprefix('# ')}",
            # Links of the README are relative to the study's folder.
            " ".join(about.split()).replace("](../../docs/", "]("),
            f"[Set-up, results](../studies/{folder.name}/README.md) and "
            f"[statements that differ, with causes](../studies/{folder.name}/README.md#statements-that-differ)",
            table(["test", "statements", *of.OUTCOMES], counts),
        ]
    return page(parts)


_VERDICTS: Final = """| verdict | meaning |
| --- | --- |
| holds | our value is within the statement's tolerance |
| known to differ | our value is outside the tolerance, and an experiment has shown the cause |
| differs | our value is outside the tolerance, and the cause is only suspected or open |

Each study's README states its assumptions and experiments. Its `published.csv` has the tolerances and causes. A test
named `...-causes` repeats statements with one assumption changed, to find the cause of a difference."""

_FIGURE: Final = """<!-- drawn by
from bentpipe import studies
from matplotlib.figure import Figure

header, rows = studies.summary().header, studies.summary().rows[:-1]
figure = Figure(figsize=(7.2, 2.6), layout="constrained")
axes = figure.subplots()
names, left = [row[0] for row in rows], [0] * len(rows)
for column, outcome in enumerate(header[2:-1], 2):
    values = [int(row[column]) for row in rows]
    axes.barh(names, values, left=left, label=outcome)
    left = [start + value for start, value in zip(left, values)]
axes.invert_yaxis()
axes.set_xlabel("statements")
axes.legend(loc="center right")
-->

![Statements by verdict](pictures/studies.png)

*Statements by verdict.*"""


def readmes() -> dict[str, str]:
    """Returns the studies' READMEs with their lists of statements that differ."""
    from bentpipe import studies as of

    texts = {}
    for folder in of.known().values():
        listed = _differing(folder)
        text = (folder / "README.md").read_text(encoding="utf-8")
        begin, marker, rest = text.partition("<!-- differing -->\n")
        _, end, after = rest.partition("<!-- end -->")
        texts[f"studies/{folder.name}/README.md"] = (
            f"{begin}{marker}{listed}\n{end}{after}" if marker else text
        )
    return texts


def _differing(folder: Path) -> str:
    from bentpipe import studies as of

    reasons = {
        one.text: one.deviation or one.suspected for one in of.read_published(folder / "published.csv")
    }
    rows = [
        [cells[0], test, cells[-1], _reason(cells[0], reasons)]
        for test, of_test in of.recorded(folder).items()
        for cells in of_test
        if cells[-1] != "holds"
    ]
    return table(["statement", "test", "verdict", "cause, or suspicion"], rows)


def _reason(statement: str, reasons: Mapping[str, str]) -> str:
    """The reason of a statement, whose text in a table may be followed by its unit."""
    return next(
        (why for text, why in reasons.items() if statement == text or statement.startswith(f"{text} (")), ""
    )


def parity(cases: Sequence[Any], in_memory: float) -> str:
    """Where simulation and emulation agree, from the cases of the tests."""
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
        "Linux kernel's own sockets. The quantities of each flow agree within the tolerance; where one may differ by "
        "more, its physical reason is given. Several seeds are compared by their mean. Cases in memory run once more "
        "in real time, without privileges, with the model endpoints behind ports in memory: then all agree within "
        f"{in_memory:.0%}. All cases run in virtual time too, with the sockets of a kernel of their own "
        "(`make test-kernel`, [real kernels in virtual time](../kernel.md)).",
        table(["case", "length", "seeds", "tolerance", "in memory", "quantities"], rows),
        "`make test-variants` compares every congestion control in the engine with the same C file in the kernel, over "
        "a GEO link without loss, with 0.1 % and with 1 %, over DVB-RCS with VBDC and over a link whose delay follows "
        "satellites; and Compound, which Linux does not have, over a soft handover without loss (`handover-slower`).",
        "## Exceptions",
        table(["case", "quantity", "tolerance", "reason"], exceptions),
        "## Scenarios",
        *(f"```toml\n{case.text.strip()}\n```" for case in cases),
    ]
    return page(parts)
