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
    the column counts bytes, and ``mean = 2`` the mean of each 2 s. ``style`` is ``line`` (default),
    ``steps`` or ``dots``. ``names`` replaces the names of the curves in the legend.
  - ``table = "TABLE.COLUMN"``: a curve over the column ``over`` of the rows whose name begins with
    the regular expression ``rows``.
  - ``sweep = EXPRESSION``: a curve over the values of ``[sweep]``.
  - ``bars = EXPRESSION``: a bar per run of ``[each]``.

  ``min`` and ``max`` fix the ends of the vertical axis; the default of ``min`` is 0.
- ``say``: a sentence about each run, in which ``{EXPRESSION}`` stands for a number, and
  ``{EXPRESSION in UNIT}`` for a number with its unit. ``otherwise`` replaces the sentence if a
  value is missing. Over a sweep, they describe the last value with a result and the first without;
  ``{sweep}`` is the value. ``{each}`` is the label in ``[each]``, which otherwise precedes the
  sentence.

An expression multiplies and divides numbers, names of controls, and values of the results:
``flows.NAME.COLUMN`` or ``TABLE.NAME.COLUMN`` of the summary, and ``max(TABLE.NAME.COLUMN)``,
``min``, ``mean`` (over the time) or ``last`` of the rows of a trace.
"""

from __future__ import annotations

import html
import json
import math
import re
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from . import blocks

#: Units of a figure or a sentence, in the unit of the results.
UNITS: Final = {
    "bit/s": 1.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "s": 1.0,
    "ms": 1e-3,
    "B": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "%": 0.01,
}

_BLOCK: Final = {"scenario", "control", "each", "sweep", "figure", "say", "otherwise"}
_CONTENTS: Final = ("trace", "table", "sweep", "bars")
_FIGURE: Final = {
    "label",
    "unit",
    "min",
    "max",
    "bin",
    "mean",
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

_QUANTITY: Final = re.compile(r"([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?: (\S+))?")
_PLACE: Final = re.compile(r"\{([^{}]+?)(?: in ([^{}]+))?\}")
_TERM: Final = re.compile(
    r"(?P<number>\d+(?:\.\d+)?(?:e[-+]?\d+)?)$"
    r"|(?P<function>max|min|mean|last)\((?P<trace>[\w.-]+)\)$"
    r"|(?P<value>[\w-]+(?:\.[\w-]+)+\.\w+)$"
    r"|(?P<control>[a-z]\w*)$"
)

#: Number of rows in the traces of a block below which the page keeps all rows.
FEW_ROWS: Final = 3000

#: Steps of a slider without `step`.
STEPS: Final = 60


class TryError(ValueError):
    """An error of an interactive figure. ``near`` is a text in the line of the error."""

    def __init__(self, message: str, near: str = "") -> None:
        super().__init__(message)
        self.near = near

    def line(self, text: str) -> int:
        """Returns the number of the line in the block, from 1."""
        lines = text.splitlines()
        return next((number for number, line in enumerate(lines, 1) if self.near and self.near in line), 1)


def page_spec(text: str, files: dict[str, str]) -> dict[str, Any]:
    """Returns the block as data for the page's script, after all checks.

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
        "say": block.get("say", ""),
        "otherwise": block.get("otherwise", ""),
    }
    if not spec["controls"] or not spec["figures"]:
        raise TryError("the block needs a control and a figure")
    spec["traces"] = sorted({one.split(".")[0] for one in _traces(spec)})
    _check(spec)
    return spec


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
    found = {}
    for block in blocks.read(page):
        if block.language == "toml" and (name := re.match(r"# (\S+\.toml)\n", block.text)):
            found[name[1]] = block.text
    return found


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
    _only(table, _CONTROL, f"control.{name}")
    common = {"name": name, "label": _required(table, "label", f"control.{name}")}
    if "choices" in table:
        choices = _selection(table, f"control.{name}", _CONTROL)
        labels = [choice["label"] for choice in choices]
        start = table.get("start", labels[0])
        if start not in labels:
            raise TryError(f"control.{name}: start must be one of {', '.join(labels)}", "start")
        return {**common, "choices": choices, "start": labels.index(start)}
    numbers, unit = _values(table, f"control.{name}")
    start, start_unit = _quantity(_required(table, "start", f"control.{name}"), f"control.{name}.start")
    if start_unit != unit:
        raise TryError(f"control.{name}: all values need the unit {unit!r}", "start")
    numbers = sorted({*numbers, start})
    return {
        **common,
        "values": numbers,
        "unit": unit,
        "show": _shown(table, unit),
        "keys": _keys(table),
        "start": numbers.index(start),
    }


def _shown(table: dict[str, Any], unit: str) -> dict[str, Any]:
    """Returns the unit in which values are shown, and the factor to it."""
    if unit and "show" in table:
        raise TryError("show needs numbers without a unit", "show")
    shown = table.get("show", unit)
    return {"unit": shown, "factor": 1 if unit else 1 / UNITS.get(shown, 1.0)}


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
    if "values" not in table:
        step = _quantity(table["step"], where)[0] if "step" in table else None
        numbers = _between(numbers[0], numbers[1], step, table.get("scale") == "log")
    return numbers, units.pop()


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
    """Returns label and overrides of each choice."""
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
        found.append({"label": label, "overrides": overrides})
    return found


def _toml(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool | int | float) else str(value)


def _sweep(table: dict[str, Any]) -> dict[str, Any]:
    _only(table, _SWEEP, "sweep")
    numbers, unit = _values(table, "sweep")
    return {
        "label": _required(table, "label", "sweep"),
        "keys": _keys(table),
        "values": numbers,
        "unit": unit,
        "show": _shown(table, unit),
        "log": table.get("scale") == "log",
    }


def _figure(table: dict[str, Any], block: dict[str, Any]) -> dict[str, Any]:
    _only(table, _FIGURE, "figure")
    contents = [key for key in _CONTENTS if key in table]
    if len(contents) != 1:
        raise TryError(f"a figure needs one of {', '.join(_CONTENTS)}", "[[figure]]")
    if contents[0] == "sweep" and "sweep" not in block:
        raise TryError("the figure needs a table [sweep]", table["sweep"])
    if table.get("style", "line") not in ("line", "steps", "dots"):
        raise TryError("style must be line, steps or dots", "style")
    unit = table.get("unit", "")
    return {
        **table,
        "label": _required(table, "label", "figure"),
        "unit": unit,
        "factor": 1 / UNITS.get(unit, 1.0),
    }


def expressions(spec: dict[str, Any]) -> list[str]:
    """Returns all expressions of a block."""
    found = [place[1] for text in (spec["say"], spec["otherwise"]) for place in _PLACE.finditer(text)]
    found += [figure[key] for figure in spec["figures"] for key in ("sweep", "bars") if key in figure]
    return found


def _terms(expression: str) -> list[re.Match[str]]:
    found = []
    for term in re.split(r" [*/] ", expression):
        match = _TERM.match(term)
        if not match:
            raise TryError(f"{expression!r} is no expression: {term!r}", expression)
        found.append(match)
    return found


def _columns(figure: dict[str, Any]) -> list[str]:
    found = figure.get("trace", [])
    return [found] if isinstance(found, str) else list(found)


def _traces(spec: dict[str, Any]) -> list[str]:
    """Returns the columns of traces that the block reads, as TABLE.COLUMN."""
    found = [column for figure in spec["figures"] for column in _columns(figure)]
    for expression in expressions(spec):
        places = [term["trace"] for term in _terms(expression) if term["trace"]]
        found += [f"{place.split('.')[0]}.{place.rpartition('.')[2]}" for place in places]
    return found


def overrides(spec: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Returns the overrides to check, each with the name of its control or label of its choice: the
    ends of each slider and each choice, with the first values of the other controls."""
    base: dict[str, list[str]] = {}
    if spec["each"]:
        base["each"] = spec["each"][0]["overrides"]
    if spec["sweep"]:
        base["sweep"] = _at(spec["sweep"], spec["sweep"]["values"][0])
    for control in spec["controls"]:
        chosen = control["start"]
        if "choices" in control:
            base[control["name"]] = control["choices"][chosen]["overrides"]
        else:
            base[control["name"]] = _at(control, control["values"][chosen])

    def changed(name: str, own: list[str]) -> list[str]:
        return [one for list_ in {**base, name: own}.values() for one in list_]

    found = [("start", changed("", []))]
    found += [(choice["label"], changed("each", choice["overrides"])) for choice in spec["each"]]
    sliders = [control for control in spec["controls"] if "values" in control]
    sliders += [{**spec["sweep"], "name": "sweep"}] if spec["sweep"] else []
    for slider in sliders:
        for end in (slider["values"][0], slider["values"][-1]):
            found.append((slider["name"], changed(slider["name"], _at(slider, end))))
    for control in spec["controls"]:
        for choice in control.get("choices", []):
            found.append((choice["label"], changed(control["name"], choice["overrides"])))
    return found


def _at(slider: dict[str, Any], value: float) -> list[str]:
    text = f"{value:.10g} {slider['unit']}".strip()
    return [f"{key}={text}" for key in slider["keys"]]


def _check(spec: dict[str, Any]) -> None:
    """Loads the scenario at the ends of all controls, and runs it once to check names of
    results."""
    import bentpipe as bp

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / spec["name"]
        file.write_text(spec["toml"], encoding="utf-8")
        found = overrides(spec)
        for near, given in found:
            try:
                bp.load(file, overrides=given)
            except bp.ScenarioError as error:
                refused = re.search(r"--set ([\w.-]+)", str(error))
                raise TryError(f"{near}: {error}", refused[1] if refused else near) from None
        run = bp.simulate(file, overrides=found[0][1], out=Path(folder) / "run")
        _check_names(spec, run)
        # A long trace has as many rows as a wide screen has pixels.
        rows = sum(run.trace(trace).height for trace in spec["traces"])
        duration = json.loads((run.path / "summary.json").read_text())["duration_seconds"]
        spec["spacing_s"] = 0 if rows < FEW_ROWS else duration / 1200


def _check_names(spec: dict[str, Any], run: Any) -> None:
    controls = {control["name"] for control in spec["controls"]} | {"sweep", "each"}
    for expression in expressions(spec):
        for term in _terms(expression):
            if term["control"] and term["control"] not in controls:
                raise TryError(f"there is no control {term['control']}", expression)
            if place := term["value"] or term["trace"]:
                _check_place(place, run, bool(term["trace"]), expression)
    for figure in spec["figures"]:
        for place in _columns(figure):
            table, _, column = place.partition(".")
            for name in figure.get("entities", [None]):
                _check_place(f"{table}.{name}.{column}", run, True, place, name is not None)
        if "table" in figure:
            table, _, column = figure["table"].partition(".")
            for one in (column, figure.get("over", "")):
                if table not in run.tables or one not in run.table(table).columns:
                    raise TryError(f"there is no column {one} of a table {table}", figure["table"])


def _check_place(place: str, run: Any, trace: bool, near: str, named: bool = True) -> None:
    """Checks TABLE.NAME.COLUMN in the results of a run."""
    table, _, rest = place.partition(".")
    name, _, column = rest.rpartition(".")
    if trace:
        rows = run.trace(table) if run.has_trace(table) else None
    elif table == "flows":
        rows = run.flows
    else:
        rows = run.table(table) if table in run.tables else None
    if rows is None:
        raise TryError(f"{place}: the results have no {'trace' if trace else 'table'} {table}", near)
    if column not in rows.columns:
        raise TryError(f"{place}: no column {column}; columns: {', '.join(rows.columns)}", near)
    names = set(rows[rows.columns[1 if trace else 0]].to_list())
    if named and name not in names:
        raise TryError(f"{place}: no row {name}; rows: {', '.join(sorted(map(str, names)))}", near)
