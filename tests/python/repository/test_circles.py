"""`scripts/circles` finds modules of a crate that use each other in a circle."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path

import pytest
from helpers import ROOT

SCRIPT = ROOT / "scripts" / "circles"


@pytest.mark.parametrize(
    ("user", "found"),
    [
        ("use crate::b::{deep::{Thing, other}, B};", True),
        ("use super::b::B;", True),
        ("fn f() -> crate::b::B { crate::b::B }", True),
        ("use crate::B;", True),  # passed on by the crate's root
        ("// use crate::b::B;", False),
        ('const TEXT: &str = "use crate::b::B;";', False),
        ("#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}", False),
        ("#[cfg(test)]\nmod tests {}\nuse crate::b::B;", True),
        ("use crate::c::C;", False),
    ],
)
def test_modules_in_a_circle_are_found(tmp_path: Path, user: str, found: bool) -> None:
    loader = importlib.machinery.SourceFileLoader("circles", str(SCRIPT))
    spec = importlib.util.spec_from_loader("circles", loader)
    assert spec is not None
    script = importlib.util.module_from_spec(spec)
    loader.exec_module(script)
    source = tmp_path / "crates" / "toy" / "src"
    (source / "b").mkdir(parents=True)
    (source / "lib.rs").write_text("mod a;\nmod b;\nmod c;\npub use b::B;\n")
    (source / "a.rs").write_text(f"{user}\npub struct A;\n")
    (source / "b" / "mod.rs").write_text("pub mod deep;\npub struct B;\n")
    (source / "b" / "deep.rs").write_text("use crate::a::A;\nuse super::B;\n")
    (source / "c.rs").write_text("use crate::a::A;\npub struct C;\n" if not found else "pub struct C;\n")
    uses = script.uses_between(script.sources(source))
    groups = list(script.groups({module: set(used) for module, used in uses.items()}))
    with_c = [[("a",), ("c",)]] if user == "use crate::c::C;" else []
    assert groups == ([[("a",), ("b",)]] if found else with_c)
