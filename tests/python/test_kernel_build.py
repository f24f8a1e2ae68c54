"""An interrupted kernel build resumes where it stopped, however it ended: shown with a source that takes seconds."""

from __future__ import annotations

import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from bentpipe.guest import build, recipe, source
from networks import until

#: The targets of the kernel's makefile that a build uses; each object is logged when made.
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
KCONFIG = "config HZ\n\tint\n\tdefault 100\n\nconfig KERNEL_STACK_ORDER\n\tint\n\tdefault 1 if 64BIT\n"
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


def distribution(folder: Path) -> Path:
    """Creates a folder with the archive that a distribution's package would install."""
    tree = folder / "linux-source-6.1"
    for name, text in {
        "Makefile": MAKEFILE,
        "arch/um/Kconfig": KCONFIG,
        "arch/x86/um/user-offsets.c": OFFSETS,
        "arch/um/kernel/time.c": TIME,
        "arch/um/os-Linux/skas/process.c": USER,
        "arch/um/os-Linux/skas/mem.c": STUB,
        "arch/um/kernel/process.c": SWITCH,
        "arch/um/kernel/signal.c": SIGNAL,
        "arch/um/include/shared/kern_util.h": "struct siginfo;\n",
        "drivers/net/wireless/virtual/mac80211_hwsim.c": RADIOS,
    }.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    with tarfile.open(folder / "linux-source-6.1.tar.xz", "w:xz") as archive:
        archive.add(tree, "linux-source-6.1")
    return folder


def test_a_build_that_was_killed_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        recipe.here()
        source.need_tools()
    except (OSError, ValueError) as reason:
        pytest.skip(str(reason))
    tally = tmp_path / "tally"
    made = tmp_path / "usr-src"
    made.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TALLY", str(tally))
    monkeypatch.setattr(source, "INSTALLED", distribution(made))
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
    # Only the object in progress at the interruption is made again.
    assert len(set(after) & set(before)) <= 2
    assert set(after) | set(before) == {f"{number}.o" for number in range(1, 61)}
    assert kernel.version == "6.1.0" and kernel.fits and kernel.binary.is_file()
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    # Nothing of the source is left, nor of the objects.
    left = {path.name for path in (tmp_path / "cache" / "bentpipe" / "kernels").iterdir()}
    assert left == {"lock", kernel.folder.name}
    # An existing kernel is not built again.
    assert build.build(jobs=2).folder == kernel.folder
    assert tally.read_text().split()[len(before) :] == after
