"""Every congestion control also builds for the kernel, as a BPF struct_ops object."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from helpers import ROOT

VARIANTS = sorted((ROOT / "crates/congestion/variants").glob("*.c"))
PROBE = ROOT / "crates/congestion/tests/probe.c"


def build(folder: Path, *files: Path) -> dict[str, bytes]:
    """Returns the objects that scripts/bpf compiles from the files, by name; skips if it cannot
    compile."""
    command = [ROOT / "scripts" / "bpf", folder, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "no BPF objects built" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return {path.stem: path.read_bytes() for path in sorted(folder.glob("*.o"))}


def sections(elf: bytes) -> dict[str, bytes]:
    """Returns the sections of a 64-bit little-endian ELF file by name (System V ABI, chapter 4)."""
    assert elf[:6] == b"\x7fELF\x02\x01"
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]

    def content(header: tuple[int, ...]) -> bytes:
        return elf[header[4] : header[4] + header[5]]

    names = content(headers[names_index])
    return {names[h[0] : names.index(b"\0", h[0])].decode(): content(h) for h in headers}


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return build(tmp_path_factory.mktemp("bpf"), *VARIANTS, PROBE)


def test_every_variant_becomes_an_object(objects: dict[str, bytes]) -> None:
    assert set(objects) == {path.stem for path in [*VARIANTS, PROBE]}
    assert {"reno", "vegas"} <= set(objects)


def test_objects_register_themselves_under_their_name(objects: dict[str, bytes]) -> None:
    for name, elf in objects.items():
        found = sections(elf)
        assert f"bp_{name}\0".encode() in found[".struct_ops.link"], name
        assert {"struct_ops/ssthresh", "struct_ops/undo_cwnd"} <= set(found), name
        assert {"struct_ops/cong_avoid", "struct_ops/cong_control"} & set(found), name
        assert found["license"] == b"Dual MIT/GPL\0", name
        # Types, and the offsets at which the loader adapts them to the running kernel.
        assert {".BTF", ".BTF.ext"} <= set(found), name
        assert b"\0tcp_sock\0" in found[".BTF"], name


def test_the_worked_example_of_the_recipe_becomes_an_object(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "congestion-recipe.md").read_text(encoding="utf-8")
    source = tmp_path / "aimd.c"
    source.write_text(page.split("```c\n")[1].split("```")[0], encoding="utf-8")
    assert b"bp_aimd\0" in build(tmp_path / "objects", source)["aimd"]


def test_parameters_are_constants_that_a_loader_can_set(objects: dict[str, bytes]) -> None:
    vegas = sections(objects["vegas"])
    # Initial window and threshold, by default the kernel's own, then the parameters.
    assert struct.unpack("<5I", vegas[".rodata.settings"]) == (0, 0, 2, 4, 1)
    for parameter in (b"alpha", b"beta", b"gamma"):
        assert b"\0" + parameter + b"\0" in vegas[".BTF"]


def test_objects_do_not_depend_on_where_they_are_built(objects: dict[str, bytes], tmp_path: Path) -> None:
    for name, elf in objects.items():
        assert str(ROOT).encode() not in elf, name
    copy = tmp_path / "elsewhere"
    shutil.copytree(
        ROOT / "crates/congestion", copy / "crates/congestion", ignore=shutil.ignore_patterns("target")
    )
    (copy / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "bpf", copy / "scripts")
    command = [copy / "scripts" / "bpf", tmp_path / "objects", copy / "crates/congestion/variants/vegas.c"]
    subprocess.run(command, capture_output=True, check=True)
    assert (tmp_path / "objects" / "vegas.o").read_bytes() == objects["vegas"]


def test_without_clang_the_script_says_so(tmp_path: Path) -> None:
    command = [ROOT / "scripts" / "bpf"]
    environment = {"PATH": "/usr/bin:/bin", "CLANG": "a-clang-that-is-not-there"}
    done = subprocess.run(
        [*command, tmp_path, PROBE], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 1
    assert "a-clang-that-is-not-there is not installed; no BPF objects were built" in done.stderr
    assert not list(tmp_path.iterdir())
    done = subprocess.run([*command, "--check"], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0
    assert "skipped: BPF objects are not compared with their sources" in done.stderr
