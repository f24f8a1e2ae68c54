"""The output of ``bentpipe net watch``, in the units of the results' tables."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bentpipe import _native
from bentpipe.live import tables


def status(table: str) -> tuple[dict[str, Any], dict[str, int]]:
    """Returns a status in which every value is a different integer, and these values."""
    columns = next(one for one in json.loads(_native.tables())["reports"] if one["name"] == table)["columns"]
    values = {column["name"]: 101 + index for index, column in enumerate(columns)}
    return {"time": 1.0, "rows": [{"table": table, "entity": "one", "values": values}]}, values


@pytest.mark.parametrize(
    ("table", "shown", "expected"),
    [
        (
            "link",
            tables.links,
            {
                "rate": ("bytes", lambda value: f"{8 * value} bit/s"),
                "utilisation": ("utilisation", lambda value: f"{100 * value} %"),
                "mean wait": ("wait_mean", lambda value: f"{value} s"),
                "longest queue packets": ("queue_max", str),
                "queue drops": ("queue_drops", str),
                "error drops": ("error_drops", str),
            },
        ),
        (
            "terminal",
            tables.terminals,
            {
                "rate": ("used_bytes", lambda value: f"{8 * value} bit/s"),
                "granted": ("capacity_bytes", lambda value: f"{8 * value} bit/s"),
                "used": ("efficiency", lambda value: f"{100 * value} %"),
                "requests": ("requests", str),
                "mean delay": ("delay_mean", lambda value: f"{value} s"),
                "queue drops": ("queue_drops", str),
            },
        ),
    ],
)
def test_every_number_is_shown_in_its_unit(table: str, shown: Any, expected: dict[str, Any]) -> None:
    now, values = status(table)
    headings, (row,) = shown(now, None)
    found = {heading.replace("\n", " "): text for heading, text in zip(headings, row, strict=True)}
    assert found.pop(table) == "one"
    assert found == {heading: text(values[name]) for heading, (name, text) in expected.items()}
