"""`scripts/circles` finds modules of a crate or of the package with circular imports."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from helpers import ROOT

SCRIPT = ROOT / "scripts" / "circles"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Returns the script as a module."""
    loader = importlib.machinery.SourceFileLoader("circles", str(SCRIPT))
    spec = importlib.util.spec_from_loader("circles", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("user", "found"),
    [
        ("use crate::b::{deep::{Thing, other}, B};", True),
        ("use super::b::B;", True),
        ("fn f() -> crate::b::B { crate::b::B }", True),
        ("use crate::B;", True),  # re-exported by the crate's root
        ("// use crate::b::B;", False),
        ('const TEXT: &str = "use crate::b::B;";', False),
        ("#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}", False),
        ("#[cfg(test)]\nmod tests {}\nuse crate::b::B;", True),
        ("use crate::c::C;", False),
    ],
)
def test_modules_in_a_circle_are_found(script: ModuleType, tmp_path: Path, user: str, found: bool) -> None:
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


@pytest.mark.parametrize(
    ("user", "found"),
    [
        ("from .b import B", True),  # re-exported by the package below
        ("from .b.deep import B", True),
        ("from toy.b import deep", True),
        ("import toy.b.deep", True),
        ("from . import B", True),  # re-exported by the whole package
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b.deep import B", True),
        ("def f():\n    from .b.deep import B", True),
        ('"""from .b import B"""', False),
        ("from .c import C", False),
        ("import b.deep", False),  # of another package
    ],
)
def test_modules_of_a_package_in_a_circle_are_found(
    script: ModuleType, tmp_path: Path, user: str, found: bool
) -> None:
    package = tmp_path / "toy"
    (package / "b").mkdir(parents=True)
    (package / "__init__.py").write_text("from .b import B\n")
    (package / "a.py").write_text(f"{user}\nclass A: ...\n")
    (package / "b" / "__init__.py").write_text("from .deep import B\n")
    (package / "b" / "deep.py").write_text("from ..a import A\nclass B: ...\n")
    (package / "c.py").write_text("class C: ...\n")
    groups = [group for group, _ in script.circles_of(script.imports_between(package))]
    assert groups == ([[("a",), ("b",)]] if found else [])
