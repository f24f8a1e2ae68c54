"""For every key that can affect a path, the prediction agrees with the simulation, or its note
names the key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from bentpipe.predict.prediction import predict_scenario
from bentpipe.scenario import scenarios
from predict.path_features import ELSEWHERE, NOT_NETWORK, ROWS, Row

#: Definitions that the schema contains twice instead of by reference: the keys of the second are
#: those of the first.
SAME = {
    "proxy.mechanism.dtn.transport.": "flow.transport.tcp.",
    "network.dvb-rcs.return.dama.scheme.mix.rbdc.": "network.dvb-rcs.return.dama.scheme.rbdc.",
    "network.dvb-rcs.return.dama.scheme.mix.vbdc.": "network.dvb-rcs.return.dama.scheme.vbdc.",
    "network.dvb-rcs.return.dama.scheme.mix.avbdc.": "network.dvb-rcs.return.dama.scheme.avbdc.",
}


def kind_of(variant: Mapping[str, Any]) -> str | None:
    """Returns the kind that a variant of the schema describes, if any."""
    kind: str | None = variant.get("properties", {}).get("kind", {}).get("const")
    return kind


def keys_of(schema: Mapping[str, Any]) -> set[str]:
    """Returns the paths of all keys, variants and names that a value may have."""
    seen: set[str] = set()

    def walk(node: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        while "$ref" in node:
            name = node["$ref"].rsplit("/", 1)[1]
            if name in seen:
                return
            seen.add(name)
            node = {**schema["$defs"][name], **{key: value for key, value in node.items() if key != "$ref"}}
        variants = [*node.get("oneOf", ()), *node.get("anyOf", ()), *node.get("allOf", ())]
        # Stars come last: cases of constellations cover the shells and choices of their orbits.
        for variant in sorted(variants, key=lambda variant: kind_of(variant) in {"dvb-rcs", "skyplex"}):
            kind = kind_of(variant)
            at = path if kind is None else (*path, kind)
            if kind is not None:
                yield at
            if "const" in variant:
                yield (*path, str(variant["const"]))
            yield from walk(variant, at)
        for key, value in node.get("properties", {}).items():
            if key != "kind":
                yield (*path, key)
                yield from walk(value, (*path, key))
        for inner in ("items", "additionalProperties"):
            if isinstance(node.get(inner), Mapping):
                yield from walk(node[inner], path)

    # Links come first: the parts that they share with other nodes are described in their cases.
    properties = {"link": schema["properties"]["link"], **schema["properties"]}
    paths = walk({"properties": properties}, ())
    return {".".join(path) for path in paths if path[0] not in NOT_NETWORK}


def test_every_key_of_the_schema_has_a_case_or_a_reason() -> None:
    keys = keys_of(scenarios.schema())
    for second, first in SAME.items():
        again = {key for key in keys if key.startswith(second)}
        assert {key.replace(second, first, 1) for key in again} <= keys, second
        keys -= again
    cases = {key for row in ROWS for key in row.keys.split()}
    assert sorted(keys - cases - set(ELSEWHERE)) == []
    assert sorted((cases | set(ELSEWHERE)) - keys) == []
    assert sorted(cases & set(ELSEWHERE)) == []


def test_every_row_without_a_word_sets_the_keys_that_it_covers() -> None:
    """If a word names the feature, the note contains it for any keys of the feature."""
    unset = {
        key
        for row in ROWS
        for key in row.keys.split()
        if row.word is None and not re.search(rf"\b{re.escape(key.rpartition('.')[2])}\b", _text(row))
    }
    assert sorted(unset) == []


def _text(row: Row) -> str:
    return " ".join((json.dumps(row.base), *row.sets))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.keys.split()[0])
def test_the_prediction_is_that_of_the_simulation_or_its_note_names_what_is_not_in_it(
    row: Row, tmp_path: Path
) -> None:
    said = predict_scenario(row.base, row.sets)["f"]
    if row.word is not None:
        assert row.word in said.note
        return
    assert said.prediction is not None, said.note
    run = bp.simulate(row.base, overrides=row.sets, out=tmp_path / "run")
    goodput = next(flow["goodput"] for flow in run.flows.iter_rows(named=True) if flow["flow"] == "f")
    assert said.prediction.goodput_bit_s == pytest.approx(goodput, rel=0.1), said.note
