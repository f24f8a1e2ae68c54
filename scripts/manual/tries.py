"""Reads and checks the interactive figures of a page.

A comment ``<!-- try: TITLE`` ... ``-->`` describes an interactive figure as TOML. In the site, the
page's script (``testbed/web/src/site``) draws its controls and figures, and runs the scenario in
the WebAssembly module at each change of a control. A code host shows only the rest of the page.

- ``scenario``: a scenario file that a ``toml`` block above the block defines.
- ``[control.NAME]``: a control. ``label`` is its text and ``key`` the key path, or a list of key
  paths, that it overrides. A slider has ``values``, or ``from``, ``to``, and either ``step`` or
  ``scale = "log"``; each is a number or a quantity such as ``"10 Mbit/s"``. With ``show``
  (``"%"``, ``"segments"``), numbers without a unit are shown in that unit. A selection has
  ``choices``: a list of values, or a table of values by label. Without ``key`` the values are
  overrides ``KEY.PATH=VALUE`` or lists of them. ``start`` is the first value; its default is the
  first choice.
- ``[each]``: runs that are drawn together, with the keys of a selection.
- ``[sweep]``: runs over the values of a ``key``, with ``label`` and the keys of a slider except
  ``start``.
- ``[[figure]]``: a figure with ``label`` and ``unit`` of its vertical axis. Its content is one of:

  - ``trace = "TABLE.COLUMN"``, or a list of columns: a curve over time for each name in
    ``entities`` (default: all). ``bin = 2`` draws the increase in each 2 s as a rate, in bits if
    the column counts bytes, and ``mean = 2`` the mean of each 2 s. ``per`` divides the values.
    ``style`` is ``line`` (default), ``steps`` or ``dots``. ``names`` replaces the names of the
    curves in the legend.
  - ``table = "TABLE.COLUMN"``: a curve over the column ``over`` of the rows whose name begins with
    the regular expression ``rows``.
  - ``sweep = EXPRESSION``: a curve over the values of ``[sweep]``.
  - ``bars = EXPRESSION``: a bar per run of ``[each]``.
  - ``packets = "FLOW"``: a space-time diagram of the flow's packets between the ``nodes``, a list
    of at least two nodes along the path, from the flow's source. The nodes replace
    ``record.capture``. The diagram can be played and scrubbed. It shows segments, acknowledgments,
    retransmissions, losses and waits, and with demand assignment (DAMA) requests and plans. It
    needs only ``label``, its title, and no ``[each]`` or ``[sweep]``. ``about`` is an introduction
    above the diagram.

  ``min`` and ``max`` fix the ends of the vertical axis; the default of ``min`` is 0.
- ``say``: a sentence about each run, in which ``{EXPRESSION}`` stands for a number, and
  ``{EXPRESSION in UNIT}`` for a number with its unit. ``otherwise`` replaces the sentence if a
  value is missing. Over a sweep, they describe the last value with a result and the first without;
  ``{sweep}`` is the value. ``{each}`` is the label in ``[each]``, which otherwise precedes the
  sentence.

An expression multiplies and divides numbers, names of controls, and values of the results:
``flows.NAME.COLUMN`` or ``TABLE.NAME.COLUMN`` of the summary, and ``mean(TABLE.NAME.COLUMN)``, the
mean over time of the rows of a trace. Units are those of scenarios, ``%``, and the counts of
:data:`manual.expressions.COUNTS`.

:func:`page_spec` parses a block, as the site does. :func:`check` also loads and runs the scenario,
as the test of the page does.
"""

from __future__ import annotations

import html
import json
import math
import re
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from bentpipe.quantities import UNITS, base_value, number

from . import blocks
from .expressions import TryError, entity_of, expression, factor, sentence

__all__ = ["TryError", "check", "element", "page_spec", "positions", "scenarios"]

_BLOCK: Final = {"scenario", "control", "each", "sweep", "figure", "say", "otherwise"}
_CONTENTS: Final = ("trace", "table", "sweep", "bars")
#: Keys of a figure of packets.
_PACKETS: Final = {"packets", "label", "nodes", "about"}
_FIGURE: Final = {
    "label",
    "unit",
    "min",
    "max",
    "bin",
    "mean",
    "per",
    "style",
    "entities",
    "names",
    "over",
    "rows",
    *_CONTENTS,
}
_CONTROL: Final = {"label", "key", "from", "to", "step", "scale", "values", "choices", "start", "show"}
_SELECTION: Final = {"label", "key", "choices"}
_SWEEP: Final = {"label", "key", "from", "to", "step", "values", "scale", "show"}
#: Names that expressions give to the labels of ``[each]`` and the values of ``[sweep]``.
_RESERVED: Final = ("each", "sweep")

_QUANTITY: Final = re.compile(r"([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?: (\S+))?")

#: Number of rows that a page keeps per entity of a thinned trace: as many as a wide screen has
#: pixels.
KEPT_ROWS: Final = 1200
#: Maximum number of rows in the traces of a page that keeps all rows.
MAX_ROWS: Final = 3000

#: Steps of a slider without `step`.
STEPS: Final = 60


def page_spec(text: str, files: dict[str, str]) -> dict[str, Any]:
    """Returns the data for the page's script: ``Spec`` of ``testbed/web/src/site/spec.ts``.

    ``files`` contains the scenario files of the page by name. Raises :class:`TryError`.
    """
    try:
        block = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TryError(f"the block is not TOML: {error}") from None
    _only(block, _BLOCK, "the block")
    name = block.get("scenario")
    if name not in files:
        raise TryError(f"scenario = {name!r} is not defined above; files: {', '.join(files)}", "scenario")
    spec = {
        "name": name,
        "toml": files[name],
        "controls": [_control(key, value) for key, value in block.get("control", {}).items()],
        "each": _selection(block["each"], "each", _SELECTION) if "each" in block else [],
        "sweep": _sweep(block["sweep"]) if "sweep" in block else None,
        "figures": [_figure(figure, block) for figure in block.get("figure", [])],
        "say": sentence(block.get("say", "")),
        "otherwise": sentence(block.get("otherwise", "")),
    }
    if not spec["controls"] or not spec["figures"]:
        raise TryError("the block needs a control and a figure")
    _check_controls(spec)
    spec["traces"] = sorted({table for table, *_ in _trace_columns(spec)})
    spec["spacing_s"] = _spacing_s(spec)
    nodes = [node for figure in spec["figures"] for node in figure.get("nodes", [])]
    spec["capture"] = list(dict.fromkeys(nodes))
    return spec


def _spacing_s(spec: dict[str, Any]) -> float:
    """Returns the minimum time between two kept rows of an entity. 0 keeps every row, which means,
    steps, dots and packets need."""
    if not spec["traces"] or any("packets" in figure for figure in spec["figures"]):
        return 0.0
    drawn = [figure for figure in spec["figures"] if "trace" in figure]
    if any("mean" in figure or figure.get("style", "line") != "line" for figure in drawn):
        return 0.0
    try:
        return base_value(tomllib.loads(spec["toml"])["duration"]) / KEPT_ROWS
    except (KeyError, ValueError):
        raise TryError(f"the scenario {spec['name']} needs a duration", "scenario") from None


def element(title: str, spec: dict[str, Any]) -> str:
    """Returns the block as a hidden element, which the page's script shows."""
    data = json.dumps(spec, ensure_ascii=False).replace("<", "\\u003c")
    text = html.escape(title)
    return (
        f'<div class="try" role="group" aria-label="{text}" hidden>\n<p class="try-title">{text}</p>\n'
        f'<script type="application/json">{data}</script>\n</div>\n'
    )


def scenarios(page: str) -> dict[str, str]:
    r"""Returns the scenario files of a page by name.

    >>> scenarios("```toml\n# one.toml\nname = 'One'\n```\n")
    {'one.toml': "# one.toml\nname = 'One'\n"}
    """
    return {one.file: one.text for one in blocks.read(page) if one.language == "toml" and one.file}


def _only(table: dict[str, Any], allowed: Iterable[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise TryError(f"unknown key {key} of {where}; allowed: {', '.join(sorted(allowed))}", key)


def _quantity(value: object, where: str) -> tuple[float, str]:
    """Returns number and unit.

    >>> _quantity("10 Mbit/s", ""), _quantity(3, "")
    ((10.0, 'Mbit/s'), (3.0, ''))
    """
    found = _QUANTITY.fullmatch(str(value))
    if not found or isinstance(value, bool):
        raise TryError(f"{where}: {value!r} is no number and no quantity", str(value))
    return float(found[1]), found[2] or ""


def _keys(table: dict[str, Any]) -> list[str]:
    key = table.get("key", [])
    return [key] if isinstance(key, str) else list(key)


def _control(name: str, table: dict[str, Any]) -> dict[str, Any]:
    if name in _RESERVED:
        raise TryError(f"control.{name}: the names {', '.join(_RESERVED)} are reserved", f"[control.{name}")
    _only(table, _CONTROL, f"control.{name}")
    common = {"name": name, "label": _required(table, "label", f"control.{name}")}
    if "choices" in table:
        choices = _selection(table, f"control.{name}", _CONTROL)
        labels = [choice["label"] for choice in choices]
        start = table.get("start", labels[0])
        if start not in labels:
            raise TryError(f"control.{name}: start must be one of {', '.join(labels)}", "start")
        return {**common, "kind": "selection", "positions": choices, "start": labels.index(start)}
    numbers, unit = _values(table, f"control.{name}")
    start, start_unit = _quantity(_required(table, "start", f"control.{name}"), f"control.{name}.start")
    if start_unit != unit:
        raise TryError(f"control.{name}: all values need the unit {unit!r}", "start")
    numbers = sorted({*numbers, start})
    places = positions(numbers, unit, _keys(table), table.get("show", ""))
    return {**common, "kind": "slider", "positions": places, "start": numbers.index(start)}


def positions(numbers: list[float], unit: str, keys: list[str], show: str = "") -> list[dict[str, Any]]:
    """Returns the positions of a slider or a sweep: label, number in ``unit``, and overrides.
    ``show`` replaces the unit of the labels.

    >>> positions([0.01], "", ["link.sat.error.probability"], "%")
    [{'label': '1 %', 'number': 0.01, 'overrides': ['link.sat.error.probability=0.01']}]
    """
    shown, size = (show, factor(show, "show")) if show else (unit, 1.0)
    return [
        {
            "label": f"{number(value * size, 6)} {shown}".strip(),
            "number": value,
            "overrides": [f"{key}={value:.10g} {unit}".strip() for key in keys],
        }
        for value in numbers
    ]


def _required(table: dict[str, Any], key: str, where: str) -> Any:
    if key not in table:
        raise TryError(f"{where} needs the key {key}", f"[{where}")
    return table[key]


def _values(table: dict[str, Any], where: str) -> tuple[list[float], str]:
    """Returns the values of a slider or a sweep, and their unit."""
    if "values" in table:
        quantities = [_quantity(value, where) for value in table["values"]]
    else:
        quantities = [_quantity(_required(table, key, where), where) for key in ("from", "to")]
    units = {unit for _, unit in quantities}
    numbers = [number for number, _ in quantities]
    if len(units) != 1 or numbers != sorted(set(numbers)):
        raise TryError(f"{where}: values must rise and have one unit", f"[{where}")
    unit = units.pop()
    if unit and unit not in UNITS:
        raise TryError(f"{where}: {unit!r} is no unit; allowed: {', '.join(UNITS)}", f"[{where}")
    if unit and "show" in table:
        raise TryError("show needs numbers without a unit", "show")
    if "values" not in table:
        step = _quantity(table["step"], where)[0] if "step" in table else None
        numbers = _between(numbers[0], numbers[1], step, table.get("scale") == "log")
    return numbers, unit


def _between(low: float, high: float, step: float | None, logarithmic: bool) -> list[float]:
    """Returns the values of a slider.

    >>> _between(1, 3, 0.5, False)
    [1.0, 1.5, 2.0, 2.5, 3.0]
    >>> len(_between(0.01, 10, None, True)), _between(0.01, 10, None, True)[:3]
    (61, [0.01, 0.011, 0.013])
    """
    if logarithmic:
        steps = [low * (high / low) ** (place / STEPS) for place in range(STEPS + 1)]
        return sorted({float(f"{value:.2g}") for value in steps} - {0.0} | {low, high})
    if step is None:
        step = 10 ** math.floor(math.log10((high - low) / STEPS)) * 2
    count = round((high - low) / step)
    return [float(f"{low + place * step:.10g}") for place in range(count + 1)]


def _selection(table: dict[str, Any], where: str, allowed: Iterable[str]) -> list[dict[str, Any]]:
    """Returns the positions of a selection: label and overrides of each choice, and no number."""
    _only(table, allowed, where)
    choices = _required(table, "choices", where)
    named = choices if isinstance(choices, dict) else {str(choice): choice for choice in choices}
    keys = _keys(table)
    found = []
    for label, value in named.items():
        if keys:
            overrides = [f"{key}={_toml(value)}" for key in keys]
        else:
            overrides = [value] if isinstance(value, str) else list(value)
        found.append({"label": label, "number": None, "overrides": overrides})
    return found


def _toml(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool | int | float) else str(value)


def _sweep(table: dict[str, Any]) -> dict[str, Any]:
    """Returns the sweep: the label of its axis, its positions, and their places along the axis."""
    _only(table, _SWEEP, "sweep")
    numbers, unit = _values(table, "sweep")
    show = table.get("show", "")
    return {
        "label": _with_unit(_required(table, "label", "sweep"), show or unit),
        "positions": positions(numbers, unit, _keys(table), show),
        "axis": [value * factor(show, "show") for value in numbers],
        "log": table.get("scale") == "log",
    }


def _with_unit(label: str, unit: str) -> str:
    return f"{label} ({unit})" if unit else label


def _figure(table: dict[str, Any], block: dict[str, Any]) -> dict[str, Any]:
    if "packets" in table:
        return _packets(table, block)
    _only(table, _FIGURE, "figure")
    contents = [key for key in _CONTENTS if key in table]
    if len(contents) != 1:
        raise TryError(f"a figure needs one of {', '.join(_CONTENTS)}, packets", "[[figure]]")
    (kind,) = contents
    if kind == "sweep" and "sweep" not in block:
        raise TryError("the figure needs a table [sweep]", table["sweep"])
    if table.get("style", "line") not in ("line", "steps", "dots"):
        raise TryError("style must be line, steps or dots", "style")
    per = table.get("per", 1)
    if isinstance(per, bool) or not isinstance(per, int | float) or per <= 0:
        raise TryError(f"per must be a positive number, not {per!r}", "per")
    try:
        re.compile(table.get("rows", ""))
    except (re.error, TypeError) as error:
        raise TryError(f"rows is no regular expression: {error}", "rows") from None
    unit = table.get("unit", "")
    content: Any
    if kind == "trace":
        columns = [table["trace"]] if isinstance(table["trace"], str) else table["trace"]
        content = [_column(column) for column in columns]
    elif kind == "table":
        content = _column(table["table"])
        content["entity"] = entity_of(content["table"], table["table"])
    else:
        content = expression(table[kind])
    more = {key: value for key, value in table.items() if key not in ("unit", "per")}
    return {
        **more,
        kind: content,
        "label": _with_unit(_required(table, "label", "figure"), unit),
        "factor": factor(unit, f'"{unit}"') / per,
    }


def _packets(table: dict[str, Any], block: dict[str, Any]) -> dict[str, Any]:
    _only(table, _PACKETS, "a figure of packets")
    nodes = table.get("nodes", [])
    if not isinstance(nodes, list) or len(nodes) < 2:
        raise TryError("packets needs a list of at least two nodes along the path", "packets")
    for key in ("each", "sweep"):
        if key in block:
            raise TryError(f"packets shows a single run, without [{key}]", f"[{key}]")
    return {**table, "label": _required(table, "label", "figure"), "factor": 1.0}


def _column(text: str) -> dict[str, str]:
    """Splits TABLE.COLUMN. Raises :class:`TryError` for a text without a dot."""
    table, dot, column = text.partition(".")
    if not dot:
        raise TryError(f"{text!r} is no column TABLE.COLUMN", text)
    return {"table": table, "column": column}


def _terms(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the terms of all expressions of a block."""
    for part in [*spec["say"], *spec["otherwise"]]:
        if isinstance(part, dict):
            yield from part.get("expression", [])
    for figure in spec["figures"]:
        yield from [*figure.get("sweep", []), *figure.get("bars", [])]


def _check_controls(spec: dict[str, Any]) -> None:
    """Checks the names of controls in expressions, which need sliders, and in sentences."""
    sweep = {"sweep"} if spec["sweep"] else set()
    sliders = {control["name"] for control in spec["controls"] if control["kind"] == "slider"} | sweep
    names = {control["name"] for control in spec["controls"]} | sweep | ({"each"} if spec["each"] else set())
    for term in _terms(spec):
        if term["kind"] == "control" and term["name"] not in sliders:
            raise TryError(
                f"there is no slider {term['name']}; sliders: {', '.join(sorted(sliders))}", term["name"]
            )
    for part in [*spec["say"], *spec["otherwise"]]:
        if isinstance(part, dict) and part.get("shown", "") not in {"", *names}:
            raise TryError(
                f"there is no control {part['shown']}; controls: {', '.join(sorted(names))}", part["shown"]
            )


def _trace_columns(spec: dict[str, Any]) -> Iterator[tuple[str, str | None, str, str]]:
    """Yields table, name (None: all) and column of the traces that the block reads, and the text of
    each in the block."""
    for figure in spec["figures"]:
        for one in figure.get("trace", []):
            for name in figure.get("entities", [None]):
                yield one["table"], name, one["column"], f"{one['table']}.{one['column']}"
    for term in _terms(spec):
        if term["kind"] == "mean":
            yield term["table"], term["name"], term["column"], _text(term)


def _text(term: dict[str, Any]) -> str:
    return f"{term['table']}.{term['name']}.{term['column']}"


def overrides(spec: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Returns the overrides to check, each with the name of its control or label of its choice: the
    ends of each slider and each choice, with the first values of the other controls."""
    sweep = spec["sweep"]["positions"] if spec["sweep"] else []
    base = {control["name"]: control["positions"][control["start"]] for control in spec["controls"]}
    base |= {name: first[0] for name, first in (("each", spec["each"]), ("sweep", sweep)) if first}

    def changed(name: str, position: dict[str, Any]) -> list[str]:
        return [one for chosen in {**base, name: position}.values() for one in chosen["overrides"]]

    found = [("start", [one for chosen in base.values() for one in chosen["overrides"]])]
    found += [(choice["label"], changed("each", choice)) for choice in spec["each"]]
    for control in spec["controls"]:
        name, places = control["name"], control["positions"]
        if control["kind"] == "slider":
            found += [(name, changed(name, end)) for end in (places[0], places[-1])]
        else:
            found += [(choice["label"], changed(name, choice)) for choice in places]
    found += [("sweep", changed("sweep", end)) for end in (sweep[:1] + sweep[-1:])]
    return found


def check(spec: dict[str, Any]) -> None:
    """Loads the scenario at the ends of all controls, and runs it once to check names of results
    and the number of rows. Raises :class:`TryError`."""
    import bentpipe as bp

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / spec["name"]
        file.write_text(spec["toml"], encoding="utf-8")
        found = overrides(spec)
        capture = [f"record.capture={json.dumps(spec['capture'])}"] if spec["capture"] else []
        for near, given in found:
            try:
                bp.load(file, overrides=[*given, *capture])
            except bp.ScenarioError as error:
                refused = re.search(r"--set ([\w.-]+)", str(error))
                key = refused[1] if refused else near
                raise TryError(f"{near}: {error}", "nodes" if key == "record.capture" else key) from None
        run = bp.simulate(file, overrides=found[0][1], out=Path(folder) / "run")
        _check_names(spec, run)
        rows = sum(run.trace(trace).height for trace in spec["traces"])
        if spec["spacing_s"] == 0 and rows > MAX_ROWS:
            raise TryError(
                f"means, steps, dots and packets need all of {rows} rows; allowed: {MAX_ROWS}", "[[figure]]"
            )


def _check_names(spec: dict[str, Any], run: Any) -> None:
    for table, name, column, near in _trace_columns(spec):
        if not run.has_trace(table):
            raise TryError(f"the results have no trace {table}", near)
        rows = run.trace(table)
        # The first columns of a trace are the time and the name of the entity.
        _check_place(rows, rows.columns[1], name, column, near)
    for term in _terms(spec):
        if term["kind"] == "row":
            near = _text(term)
            rows = _table(run, term["table"], near)
            _check_place(rows, term["entity"], term["name"], term["column"], near)
    for figure in spec["figures"]:
        flows = run.flows["flow"].to_list()
        if figure.get("packets", flows[0]) not in flows:
            raise TryError(f"there is no flow {figure['packets']}; flows: {', '.join(flows)}", "packets")
        if "table" in figure:
            place = figure["table"]
            near = f"{place['table']}.{place['column']}"
            for column in (place["column"], figure.get("over", "")):
                _check_place(_table(run, place["table"], near), place["entity"], None, column, near)


def _table(run: Any, table: str, near: str) -> Any:
    if table == "flows":
        return run.flows
    if table not in run.tables:
        raise TryError(f"the results have no table {table}", near)
    return run.table(table)


def _check_place(rows: Any, entity: str, name: str | None, column: str, near: str) -> None:
    """Checks that a table has the column and, unless ``name`` is None, a row whose column
    ``entity`` is the name."""
    if column not in rows.columns:
        raise TryError(f"{near}: no column {column}; columns: {', '.join(rows.columns)}", near)
    names = set(rows[entity].to_list())
    if name is not None and name not in names:
        raise TryError(f"{near}: no row {name}; rows: {', '.join(sorted(map(str, names)))}", near)
