"""``bentpipe voice emodel`` and ``bentpipe.voice.emodel``: the interface of the E-model, whose
numbers are tested in Rust."""

from __future__ import annotations

import csv

import pytest
from bentpipe.errors import InputError
from bentpipe.voice import emodel
from helpers import ROOT

ROWS = ROOT / "tests" / "authorities" / "voip" / "g107_emodel.csv"
PARTS = ("Ro", "Is", "Idte", "Idle", "Idd", "Id", "Ieeff", "R", "MOS")


def test_every_row_is_rated_as_the_recommendation_does() -> None:
    with ROWS.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 154
    for row in rows:
        rating = emodel.rate(**{name: float(row[name]) for name in row if name not in PARTS})
        for part in PARTS:
            assert getattr(rating, part) == pytest.approx(float(row[part]), abs=1e-6), (row, part)


def test_assumed_values_and_values_beyond_the_recommendation_are_named() -> None:
    assert "GSM-EFR" in emodel.rate("GSM-FR").notes[0]
    assert emodel.rate("GSM-FR", Ie=20, Bpl=10).notes == ()
    assert emodel.rate(Ta=620).notes == ("Ta = 620 ms lies outside the range of G.107, 0 to 500 ms",)


def test_python_refuses_as_the_command_does() -> None:
    with pytest.raises(InputError, match="unknown symbol"):
        emodel.rate(X=1)
