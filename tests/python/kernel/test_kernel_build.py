"""A kernel build resumes after any interruption, shown with a source that builds in seconds."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from bentpipe.cli import progress
from bentpipe.cli.stopping import Stop
from bentpipe.errors import InputError
from bentpipe.guest import build, guest_for, recipe, source, store
from rigs.networks import until

#: The targets of the kernel's makefile that a build uses; each compiled object is logged.
MAKEFILE = """
objects := $(addsuffix .o,$(shell seq 60))
defconfig:
\ttouch .config
olddefconfig:
\t@true
kernelversion:
\t@echo 6.1.0
linux: $(objects)
\techo $^ > $@
%.o:
\t@sleep 0.05
\t@touch $@
\t@echo $@ >> $(TALLY)
\t@echo "  CC      $@"
"""

#: The places that the recipe changes in the source.
KCONFIG = (
    "config HZ\n\tint\n\tdefault 100\n\n"
    'config KERNEL_STACK_ORDER\n\tint "Kernel stack size order"\n\tdefault 2 if 64BIT\n'
)
OFFSETS = "DEFINE_LONGS(HOST_FP_SIZE, 2696);\n"
TIME = (
    "void time_travel_sleep(void)\n{\n\ttime_travel_update_time(next, true);\n}\n"
    "\tdelta += 1;\n"
    "\t\t\ttime_travel_update_time_rel(TIMER_MULTIPLIER);\n"
)
USER = (
    "void userspace(struct uml_pt_regs *regs, unsigned long *aux_fp_regs)\n{\n"
    "\t\tif (put_fp_registers(pid, regs->fp)) {\n\t\tif (get_fp_registers(pid, regs->fp)) {\n"
)
STUB = "#include <skas.h>\n\tn = ptrace_setregs(pid, syscall_regs);\n"
SWITCH = "\tto->thread.prev_sched = from;\n"
SIGNAL = "\tif (test_thread_flag(TIF_SINGLESTEP) && (current->ptrace & PT_PTRACED))\n"
INTERRUPT = "\telse\n\t\tmemset(&regs, 0, sizeof(regs));\n"
RADIOS = (
    "#define WARN_QUEUE 100\n#define MAX_QUEUE 200\n"
    "\tif (info->flags & IEEE80211_TX_CTL_NO_ACK)\n\t\thwsim_flags |= HWSIM_TX_CTL_NO_ACK;\n"
    "\tieee80211_hw_set(hw, AMPDU_AGGREGATION);\n"
    "static int hwsim_tx_info_frame_received_nl(struct sk_buff *skb_2,\n"
    "\tieee80211_tx_status_irqsafe(data2->hw, skb);\n\treturn 0;\nout:\n"
)

CHILD = """
import sys
from pathlib import Path
from bentpipe.guest import build, source
source.INSTALLED = Path(sys.argv[1])
build.build(jobs=2)
"""


#: The files that are the same in all versions.
COMMON = {
    "Makefile": MAKEFILE,
    "arch/um/Kconfig": KCONFIG,
    "arch/um/kernel/time.c": TIME,
}

#: Linux 6.1 and 6.12, whose kernel stops its programs by ptrace.
TRACED = COMMON | {
    "arch/x86/um/user-offsets.c": OFFSETS,
    "arch/um/os-Linux/skas/process.c": USER,
    "arch/um/os-Linux/skas/mem.c": STUB,
    "arch/um/os-Linux/signal.c": INTERRUPT,
    "arch/um/kernel/process.c": SWITCH,
    "arch/um/kernel/signal.c": SIGNAL,
    "arch/um/include/shared/kern_util.h": "struct siginfo;\n",
    "drivers/net/wireless/virtual/mac80211_hwsim.c": RADIOS,
}

#: Linux 7.3, whose programs stop themselves.
PROGRAM = (
    "\td->futex = FUTEX_IN_KERN;\n\tdo {\n\t\tres = stub_syscall3(__NR_futex, FUTEX_WAKE, 1);\n"
    "\t} while (res == -EINTR);\n\n\tdo {\n\t\tres = stub_syscall4(__NR_futex, (unsigned long)&d->futex,\n"
    "\t\t\t\t    FUTEX_WAIT, FUTEX_IN_KERN, 0);\n"
    "\t} while (res == -EINTR || d->futex == FUTEX_IN_KERN);\n\n\tif (res < 0 && res != -EAGAIN)\n"
    'void __section(".__syscall_stub")\nstub_signal_restorer(void)\n'
)
KERNEL = (
    "int using_seccomp;\n\t\t\tdata->futex = FUTEX_IN_CHILD;\n\t\t\tCATCH_EINTR(syscall(__NR_futex, &data->futex,\n"
    "\t\t\t\t\t    FUTEX_WAKE, 1, NULL, NULL, 0));\n\t\t}\n\n\t\tdo {\n"
    "\t\t\tret = syscall(__NR_futex, &data->futex,\n\t\t\t\t      FUTEX_WAIT, FUTEX_IN_CHILD,\n\t\t\t\t      0);\n"
    "\t\t} while (data->futex == FUTEX_IN_CHILD);\n"
)
FILTER = "\t\t\tBPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_futex,\n\t\t\t\t 7, 0),\n"
STOPPING = COMMON | {
    "Makefile": MAKEFILE.replace("6.1.0", "7.3.4"),
    "arch/um/include/shared/skas/stub-data.h": "#define FUTEX_IN_KERN 1\n",
    "arch/um/kernel/skas/stub.c": PROGRAM,
    "arch/um/kernel/skas/stub_exe.c": FILTER,
    "arch/um/os-Linux/skas/process.c": KERNEL,
    "arch/x86/um/asm/elf.h": "#define ARCH_DLINFO\tNEW_AUX_ENT(AT_SYSINFO_EHDR, um_vdso_addr)\n",
    "drivers/net/wireless/virtual/mac80211_hwsim_main.c": RADIOS,
}


def archive(folder: Path, version: str, files: dict[str, str]) -> Path:
    """Creates an archive of a source in ``folder`` and returns its path."""
    tree = folder / f"linux-source-{version}"
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    file = folder / f"linux-source-{version}.tar.xz"
    with tarfile.open(file, "w:xz") as packed:
        packed.add(tree, tree.name)
    return file


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skips the test on machines that cannot build a kernel, and gives the test its own folder of
    kernels."""
    try:
        recipe.here()
        source.need_tools()
    except (OSError, ValueError) as reason:
        pytest.skip(str(reason))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TALLY", str(tmp_path / "tally"))


@pytest.mark.usefixtures("builder")
def test_kernels_of_several_sources_stand_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "usr-src"
    made.mkdir()
    archive(made, "6.1", TRACED)
    monkeypatch.setattr(source, "INSTALLED", made)
    old = build.build(jobs=2)
    file = archive(tmp_path, "7.3", STOPPING)
    new = build.build(jobs=2, file=file)
    # A kernel whose programs stop themselves is configured accordingly, and its source stays
    # unchanged if no change is needed.
    assert (old.version, old.parameters) == ("6.1.0", [])
    assert (new.version, new.parameters) == ("7.3.4", ["seccomp=on"])
    assert guest_for(new)["parameters"] == ["seccomp=on"]
    changed = {*old.adjustments} ^ {*new.adjustments}
    assert changed == {
        "an interrupt of no program clears no state of a processor",
        "the floating-point unit is saved when another thread needs it",
        "a program and the kernel yield to each other before they sleep",
        "a program can call the kernel without a signal",
        *(reason for reason in old.adjustments if reason.startswith("room for ")),
    }
    # The same source is built only once, and each source has its own folder.
    tally = (tmp_path / "tally").read_text()
    assert build.build(jobs=2, file=file).folder == new.folder != old.folder
    assert (tmp_path / "tally").read_text() == tally
    # The newest build is the default; a version or an earlier choice selects another one.
    assert store.current().version == "7.3.4" and store.current("6.1").version == "6.1.0"
    assert store.use("6").version == "6.1.0" == store.current().version
    for version in ("6.10", "5.15"):
        with pytest.raises(InputError, match=rf"no kernel {version}; there are 6\.1\.0, 7\.3\.4"):
            store.use(version)
    assert store.current().version == "6.1.0"
    assert {folder.name for folder in store.remove()} == {old.folder.name, new.folder.name}
    assert store.fitting() is None


@pytest.mark.usefixtures("builder")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing.tar.xz", "not a file"),
        ("linux.zip", "not a source of the kernel"),
        (
            "linux-source-9.tar.xz",
            'time.c differs from the source that the change "clock_loops" of bentpipe expects',
        ),
    ],
)
def test_a_file_that_is_no_supported_source_is_refused(tmp_path: Path, name: str, why: str) -> None:
    if name.endswith("zip"):
        (tmp_path / name).write_bytes(b"PK")
    if "-9." in name:
        archive(tmp_path, "9", STOPPING | {"arch/um/kernel/time.c": "something else\n"})
    with pytest.raises(InputError, match=why):
        build.build(jobs=2, file=tmp_path / name)
    assert store.kernels() == []


@pytest.mark.usefixtures("builder")
def test_a_build_that_was_killed_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tally = tmp_path / "tally"
    made = tmp_path / "usr-src"
    made.mkdir()
    archive(made, "6.1", TRACED)
    monkeypatch.setattr(source, "INSTALLED", made)
    process = subprocess.Popen([sys.executable, "-c", CHILD, str(made)])
    until(lambda: tally.is_file() and tally.read_text().count("\n") >= 8)
    process.send_signal(signal.SIGKILL)
    process.wait()
    # make ends with the reader of its output.
    counts = [-1, tally.read_text().count("\n")]

    def still() -> bool:
        counts.append(tally.read_text().count("\n"))
        return counts[-1] == counts[-2] == counts[-3]

    until(still)
    before = tally.read_text().split()
    assert 8 <= len(before) < 60

    told: list[tuple[float, str]] = []

    def progress(fraction: float, doing: str) -> bool:
        told.append((fraction, doing))
        return True

    kernel = build.build(progress, jobs=2)
    after = tally.read_text().split()[len(before) :]
    # Only the object that was in progress at the interruption is compiled again.
    assert len(set(after) & set(before)) <= 2
    assert set(after) | set(before) == {f"{number}.o" for number in range(1, 61)}
    assert kernel.version == "6.1.0" and kernel.fits and kernel.binary.is_file()
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    # Neither the source nor its objects are left.
    left = {path.name for path in (tmp_path / "cache" / "bentpipe" / "kernels").iterdir()}
    assert left == {"lock", kernel.folder.name}
    # An existing kernel is not built again.
    assert build.build(jobs=2).folder == kernel.folder
    assert tally.read_text().split()[len(before) :] == after


@pytest.mark.usefixtures("builder")
def test_a_build_reports_its_progress_without_a_terminal(tmp_path: Path) -> None:
    file = archive(tmp_path, "6.1", TRACED)
    words = ["machine", "kernel", "build", "--jobs", "1", "--source", str(file), "--json"]
    often = "from bentpipe.cli import main, progress; progress.INTERVAL_S = 0.5; main()"
    done = subprocess.run([sys.executable, "-c", often, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["version"] == "6.1.0"
    lines = [re.fullmatch(r"(\d+):(\d\d)  (.+)", line) for line in done.stderr.splitlines()]
    assert all(lines), done.stderr
    doing = [line[3] for line in lines if line]
    steps = [step.partition(",")[0] for step in doing]
    assert list(dict.fromkeys(steps)) == [
        "looking for tools and the kernel's source",
        "unpacking the kernel's source",
        "configuring",
        "compiling",
        "done",
    ]
    # 60 objects of 50 ms each take at least a second to compile, during which nothing else starts.
    counts = [int(step.split()[1]) for step in doing if step.startswith("compiling")]
    assert len(counts) > 3 and counts == sorted(counts) and counts[0] < 20 < counts[-1] <= 60


def test_progress_continues_while_a_step_reports_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "INTERVAL_S", 0.05)
    with progress.shown("fetching", Stop()) as lines:
        lines.describe(0.0, "waiting")
        until(lambda: capsys.readouterr().err.count("waiting") >= 1)
        until(lambda: "0:00  waiting" in capsys.readouterr().err)
