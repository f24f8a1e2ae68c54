"""Tables of runs as files: every format contains the complete table."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from bentpipe.errors import InputError
from bentpipe.results import export
from bentpipe.results.runs import open_run
from rigs.commands import call, run

FRAME = pl.DataFrame(
    {"flow": ["a|b", "c_d"], "completed": [1.5, None], "rate": [2e6, float("nan")], "packets": [3, 4]}
)


def written(tmp_path: Path, ending: str) -> Path:
    file = tmp_path / "new" / f"table{ending}"
    export.write(export.table_of(FRAME), file)
    return file


def test_numbers_are_read_again(tmp_path: Path) -> None:
    assert pl.read_csv(written(tmp_path, ".csv")).equals(FRAME)
    assert pl.read_parquet(written(tmp_path, ".parquet")).equals(FRAME)
    sheet = pl.read_excel(written(tmp_path, ".xlsx"))
    assert sheet["flow"].to_list() == ["a|b", "c_d"] and sheet["packets"].to_list() == [3, 4]
    assert json.loads(written(tmp_path, ".json").read_text()) == [
        {"flow": "a|b", "completed": 1.5, "rate": 2e6, "packets": 3},
        {"flow": "c_d", "completed": None, "rate": None, "packets": 4},
    ]


def test_text_is_escaped_and_numbers_are_aligned(tmp_path: Path) -> None:
    assert written(tmp_path, ".md").read_text().splitlines() == [
        "| flow | completed | rate | packets |",
        "| --- | ---: | ---: | ---: |",
        "| a\\|b | 1.5 | 2000000 | 3 |",
        "| c_d | – | – | 4 |",
    ]
    latex = written(tmp_path, ".tex").read_text()
    assert "{@{}lrrr@{}}" in latex
    assert r"c\_d & -- & -- & $4$ \\" in latex


def test_intervals_follow_their_means() -> None:
    table = export.Table(FRAME[:1], ["flow", "rate"], [["a", ("8.21", "0.03")]], 1, "Of two runs.")
    assert "| a | 8.21 ± 0.03 |" in export.markdown(table).decode()
    latex = export.latex(table).decode()
    assert latex.startswith("% Of two runs.") and r"a & $8.21 \pm 0.03$" in latex


def test_what_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"allowed: \.csv, \.parquet"):
        written(tmp_path, ".doc")
    monkeypatch.setattr(export, "_SPREADSHEET_ROWS", 1)
    with pytest.raises(InputError, match="2 rows are too many"):
        written(tmp_path, ".xlsx")
    assert list(tmp_path.iterdir()) == []


def test_the_command_exports_flows_reports_and_traces(run_folder: Path, tmp_path: Path) -> None:
    given = open_run(run_folder)
    for rows, frame in (
        ("flows", given.flows),
        ("terminal", given.table("terminal")),
        ("tcp", given.trace("tcp")),
    ):
        call("export", run_folder, tmp_path / "table.parquet", "--rows", rows)
        assert pl.read_parquet(tmp_path / "table.parquet").equals(frame)
    call("export", run_folder, tmp_path / "flows.csv")
    assert (tmp_path / "flows.csv").read_text().splitlines()[1].startswith("upload,st1,gw")
    refused = run("export", run_folder, tmp_path / "a.csv", "--rows", "nothing")
    assert refused.returncode == 2 and "allowed: dama, delivery, flows, link" in refused.stderr
    assert run("export", run_folder, tmp_path / "a.doc").returncode == 2
