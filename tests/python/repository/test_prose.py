"""`scripts/prose` counts unidiomatic comments, and fails when the count of a folder rises."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from helpers import ROOT

SCRIPT = ROOT / "scripts" / "prose"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Returns the script `scripts/prose` as a module."""
    loader = importlib.machinery.SourceFileLoader("prose", str(SCRIPT))
    spec = importlib.util.spec_from_loader("prose", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.rs", "/// What the queue does with a packet.\nfn f() {}", [("openers", 1)]),
        ("a.rs", "fn f() {}\n\n    /// Whether packets wait here\n    /// or elsewhere.\n", [("openers", 3)]),
        ("a.rs", "//! How packets are queued here.", [("openers", 1)]),
        ("a.rs", "// What an inline comment says.", []),
        ("a.rs", "/// Whatsoever is in the queue.", []),
        ("a.rs", "/// Returns what the queue holds.", []),
        ("a.rs", 'const TEXT: &str = "/// What a text contains.";', []),
        ("a.rs", 'const TEXT: &str = r#"a " quote\n/// What a text contains.\n"#;', []),
        ("a.rs", "fn f<'a>(c: char) { c == '\"' }\n/// What follows a quote: a comment.", [("openers", 2)]),
        ("a.rs", "/// A queue.\n\n/// A queue of packets at a link.", [("short", 1)]),
        ("a.rs", f"// {'long ' * 20}", [("wide", 1)]),
        ("a.rs", f"{'call(); ' * 12} // trailing", []),
        ("a.rs", f"// https://{'x' * 100}", []),
        ("a.rs", "// The packet is sent\n// again when lost.", [("phrases", 1)]),
        ("a.rs", "// Besides, `told` is a field and told-off a word.", []),
        ("a.rs", 'panic!("the packet is sent again");', []),
        ("a.c", "/** Whether the path is idle. */\nint a; /* thus */", [("openers", 1), ("phrases", 2)]),
        ("a.tsx", "/** Where the user of the page\n * goes on. */", [("openers", 1), ("phrases", 2)]),
        ("a.tsx", "const a = `/** What a text contains */`;", []),
        ("a.py", '"""How the whole module works."""\n', [("openers", 1)]),
        ("a.py", '#!/usr/bin/python\n\nr"""How the whole module works."""\n', [("openers", 3)]),
        (
            "a.py",
            'def f():\n    """Whether it works\n    or not, and thus.\n    """',
            [("openers", 2), ("phrases", 3)],
        ),
        ("a.py", 'f(\n    """What a text contains."""\n)', []),
        ("a.py", 'TEXT = """What a text contains.\n"""\n\n\ndef f(): ...', []),
        ("a.py", "# goes on\nword = 'goes on'", [("phrases", 1)]),
        ("a.md", "How it works, and\nthus.\n```console\n$ thus\n```\nThe end, `thus`.", [("phrases", 2)]),
    ],
)
def test_findings(
    script: ModuleType, tmp_path: Path, name: str, text: str, found: list[tuple[str, int]]
) -> None:
    folder = "docs" if name.endswith(".md") else "crates/toy/src"
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / name).write_text(text)
    assert [(finding.kind, finding.line) for _, finding in script.findings(tmp_path)] == found


def test_folders(script: ModuleType) -> None:
    folders = {
        "crates/link/src/queue/red.rs": "crates/link",
        "python/bentpipe/voice/call.py": "python/bentpipe/voice",
        "python/bentpipe/errors.py": "python/bentpipe",
        "scripts/generators/a.py": "scripts",
        "testbed/web/src/data/a.ts": "testbed/web/src",
    }
    assert {name: script.folder_of(name) for name in folders} == folders


def test_a_rise_fails_with_the_findings_of_its_folder_and_kind(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script, "ROOT", tmp_path)
    for folder in ("scripts", "crates/toy"):
        (tmp_path / folder).mkdir(parents=True)
    source, counts = tmp_path / "crates" / "toy" / "a.rs", tmp_path / "scripts" / "prose.csv"

    source.write_text("/// What a queue holds is counted.\n/// A queue.\n\n/// A queue.\n")
    assert script.main(["--update"]) == 0
    assert counts.read_text() == "folder,openers,short,wide,phrases\ncrates/toy,1,1,0,0\n"
    assert script.main([]) == 0

    source.write_text(source.read_text() + "\n/// How a queue holds packets.\n")
    assert script.main([]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "crates/toy: openers rose from 1 to 2; findings:",
        "  crates/toy/a.rs:1: openers: What a queue holds is counted. A queue.",
        "  crates/toy/a.rs:6: openers: How a queue holds packets.",
    ]
    assert script.main(["--update"]) == 0
    assert script.main([]) == 1  # an update accepts no rise

    source.write_text("/// A queue.\n\n/// The packets of a link, in order.\n")
    assert script.main(["--update"]) == 0
    assert counts.read_text() == "folder,openers,short,wide,phrases\ncrates/toy,0,1,0,0\n"
