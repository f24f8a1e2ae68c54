"""The configuration of the guest's kernel, and the changes to its source for this machine's processor."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bentpipe.errors import InputError

from .edit import Edit
from .turns import STOPS, calls, turns

FRAGMENT: Final = Path(__file__).with_name("guest.config")

#: Ticks per second of the distributions' kernels, the unit of TCP's timers.
TICKS: Final = 250

#: The system calls by which a program of x86-64 reads the clock. The kernel's own readings, such as those of TCP for
#: each segment, do not count as waiting.
CLOCK_GETTIME: Final = 228
GETTIMEOFDAY: Final = 96

#: Readings of the clock without a pause, as a power of two, after which a reading takes twice as long. So a program
#: that waits in a loop notices the end of its wait late by at most 1/16384 of it.
READINGS: Final = 14

#: The longest reading of the clock: 256 ns times two to this power, a millisecond.
LONGEST: Final = 12

#: The system calls of x86-64 that a busy thread of a guest makes, and which leave the floating-point unit alone: read,
#: write, sendto, recvfrom, getsockopt, clock_gettime, epoll_wait, timerfd_settime, io_uring_enter, futex.
PLAIN: Final = (0, 1, 44, 45, 55, CLOCK_GETTIME, 232, 286, 426, 202)

#: Bytes of processor state for which the unmodified source has room: AVX-512 and protection keys.
ROOM: Final = 2696


@dataclass(frozen=True)
class Recipe:
    """The configuration and the changes to the source."""

    configuration: str
    edits: tuple[Edit, ...]

    @property
    def hash(self) -> str:
        """Twelve digits that differ if recipes do."""
        text = json.dumps([self.configuration, [asdict(edit) for edit in self.edits]])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def apply(self, source: Path) -> list[str]:
        """Apply the changes that this source needs; returns their reasons. Raises :class:`bentpipe.InputError` if the
        source is not supported."""
        return list(dict.fromkeys([edit.reason for edit in self.edits if edit.apply(source)]))


def recipe(state_bytes: int | None) -> Recipe:
    """Returns the recipe for a processor whose kernel saves ``state_bytes`` of state beyond the general registers.

    User-Mode Linux keeps this state of each process in a field of fixed size. Processors with AMX need four times as
    much; a kernel that was built without the room ends at its first process. The field is on the kernel's stack, which
    must grow with it.

    >>> print(*[edit.reason for edit in recipe(2696).edits][:2], sep="; ")
    250 ticks a second, as distributions have; timers expire at whole steps of the clock
    >>> [edit.reason for edit in recipe(11008).edits][-2:]
    ['room for 11008 bytes of processor state', 'kernel stacks of 16 pages']
    """
    edits = [
        Edit(
            "arch/um/Kconfig",
            r"(config HZ\n\tint\n\tdefault) \d+",
            rf"\g<1> {TICKS}",
            f"{TICKS} ticks a second, as distributions have",
        ),
        # Unmodified, a timer expires a nanosecond later for each one that was set before, and the clock rounds down:
        # a run would depend on the number of timers set before it began.
        Edit(
            "arch/um/kernel/time.c",
            r"\tdelta \+= 1;\n",
            "\tdelta = roundup(time_travel_time + delta + 1, TIMER_MULTIPLIER) - time_travel_time;\n",
            "timers expire at whole steps of the clock",
        ),
        # A reading of the clock moves it by 256 ns, so that a loop that reads the clock comes to an end. But iperf3
        # waits for its server in such a loop: a round trip over a satellite would take a million readings, and ten
        # seconds of a processor.
        Edit(
            "arch/um/kernel/time.c",
            r"void time_travel_sleep\(void\)\n",
            "static unsigned int time_travel_readings;\n\n"
            "static unsigned int time_travel_doublings(void)\n{\n"
            "\tlong call = UPT_SYSCALL_NR(&current->thread.regs.regs);\n\n"
            f"\tif (call != {CLOCK_GETTIME} && call != {GETTIMEOFDAY})\n\t\treturn 0;\n"
            f"\treturn min(time_travel_readings++ >> {READINGS}, {LONGEST}U);\n}}\n\n"
            "void time_travel_sleep(void)\n",
            "loops that read the clock end",
        ),
        Edit(
            "arch/um/kernel/time.c",
            r"\ttime_travel_update_time\(next, true\);\n",
            "\ttime_travel_readings = 0;\n\ttime_travel_update_time(next, true);\n",
            "loops that read the clock end",
        ),
        Edit(
            "arch/um/kernel/time.c",
            r"\t\t\ttime_travel_update_time_rel\(TIMER_MULTIPLIER\);\n",
            "\t\t\ttime_travel_update_time_rel(TIMER_MULTIPLIER << time_travel_doublings());\n",
            "loops that read the clock end",
        ),
    ]
    # A moment that comes begins with an interrupt of no program, whose registers are cleared, and with them room for a
    # processor's state that nothing reads.
    edits += [
        Edit(
            "arch/um/os-Linux/signal.c",
            r"\t\tmemset\(&regs, 0, sizeof\(regs\)\);\n",
            "\t\tmemset(&regs, 0, __builtin_offsetof(struct uml_pt_regs, fp));\n",
            "an interrupt of no program clears no state of a processor",
            unless=STOPS,
        )
    ]
    edits += _floating_point()
    edits += turns()
    edits += calls()
    edits += _aggregates()
    if state_bytes is not None and state_bytes > ROOM:
        size = -(-state_bytes // 64) * 64
        edits += [
            Edit(
                "arch/x86/um/user-offsets.c",
                r"DEFINE_LONGS\(HOST_FP_SIZE, \d+\)",
                f"DEFINE_LONGS(HOST_FP_SIZE, {size})",
                f"room for {size} bytes of processor state",
                unless=STOPS,
            ),
            Edit(
                "arch/um/Kconfig",
                r"(config KERNEL_STACK_ORDER\n(?:\t.*\n)*?\tdefault) \d+( if 64BIT)",
                r"\g<1> 4\g<2>",
                "kernel stacks of 16 pages",
            ),
        ]
    return Recipe(FRAGMENT.read_text(encoding="utf-8"), tuple(edits))


def _floating_point() -> list[Edit]:
    """Unmodified, each system call of a program copies up to 11 kB of its floating-point unit out of its process and
    back, a quarter of the time of a guest that carries packets. Here they stay in the process until another thread
    runs, a signal comes, or the process runs something else."""
    reason = "the floating-point unit is saved when another thread needs it"
    calls = "".join(f"\tcase {call}:\n" for call in PLAIN)
    return [
        Edit(
            "arch/um/os-Linux/skas/process.c",
            r"void userspace\(struct uml_pt_regs \*regs, unsigned long \*aux_fp_regs\)\n",
            "static struct uml_pt_regs *kept_fp;\nstatic int kept_fp_pid;\n\n"
            "/* Save what the process alone has, unless it belongs to next. */\n"
            "void save_kept_fp(struct uml_pt_regs *next)\n{\n"
            "\tif (kept_fp && kept_fp != next) {\n"
            "\t\tget_fp_registers(kept_fp_pid, kept_fp->fp);\n\t\tkept_fp = NULL;\n\t}\n}\n\n"
            "static int keeps_fp(int status, long call)\n{\n"
            "\tif (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP + 0x80)\n\t\treturn 0;\n"
            f"\tswitch (call) {{\n{calls}\t\treturn 1;\n\t}}\n\treturn 0;\n}}\n\n"
            "void userspace(struct uml_pt_regs *regs, unsigned long *aux_fp_regs)\n",
            reason,
            unless=STOPS,
        ),
        Edit(
            "arch/um/os-Linux/skas/process.c",
            r"\t\tif \(put_fp_registers\(pid, regs->fp\)\) {\n",
            "\t\tif (kept_fp == regs) {\n\t\t\tkept_fp = NULL;\n"
            "\t\t} else if (put_fp_registers(pid, regs->fp)) {\n",
            reason,
            unless=STOPS,
        ),
        Edit(
            "arch/um/os-Linux/skas/process.c",
            r"\t\tif \(get_fp_registers\(pid, regs->fp\)\) {\n",
            "\t\tif (keeps_fp(status, PT_SYSCALL_NR(regs->gp))) {\n"
            "\t\t\tkept_fp = regs;\n\t\t\tkept_fp_pid = pid;\n"
            "\t\t} else if (get_fp_registers(pid, regs->fp)) {\n",
            reason,
            unless=STOPS,
        ),
        # The stub that changes a process' mappings runs in it.
        Edit(
            "arch/um/os-Linux/skas/mem.c",
            r"#include <skas\.h>\n",
            "#include <skas.h>\n#include <kern_util.h>\n",
            reason,
            unless=STOPS,
        ),
        Edit(
            "arch/um/os-Linux/skas/mem.c",
            r"\tn = ptrace_setregs\(pid, syscall_regs\);\n",
            "\tsave_kept_fp(NULL);\n\tn = ptrace_setregs(pid, syscall_regs);\n",
            reason,
            unless=STOPS,
        ),
        # A thread of the kernel needs none. One that ends does not outlive this switch.
        Edit(
            "arch/um/kernel/process.c",
            r"\tto->thread\.prev_sched = from;\n",
            "\tif (to->mm || from->flags & PF_EXITING)\n"
            "\t\tsave_kept_fp(to->mm ? &to->thread.regs.regs : NULL);\n"
            "\tto->thread.prev_sched = from;\n",
            reason,
            unless=STOPS,
        ),
        Edit(
            "arch/um/kernel/signal.c",
            r"\tif \(test_thread_flag\(TIF_SINGLESTEP\) && \(current->ptrace & PT_PTRACED\)\)\n",
            "\tsave_kept_fp(NULL);\n"
            "\tif (test_thread_flag(TIF_SINGLESTEP) && (current->ptrace & PT_PTRACED))\n",
            reason,
            unless=STOPS,
        ),
        Edit(
            "arch/um/include/shared/kern_util.h",
            r"struct siginfo;\n",
            "struct siginfo;\nstruct uml_pt_regs;\n\nextern void save_kept_fp(struct uml_pt_regs *next);\n",
            reason,
            unless=STOPS,
        ),
    ]


def _aggregates() -> list[Edit]:
    """Unmodified, the driver of simulated radios tells the medium nothing of aggregates, reports none to rate control,
    and takes any number of frames from the queues of mac80211 at once. The bits are those of
    ``crates/emu/src/wifi/frame.rs``."""
    driver = "drivers/net/wireless/virtual/mac80211_hwsim.c"
    renamed = "drivers/net/wireless/virtual/mac80211_hwsim_main.c"
    reason = "simulated radios of Wi-Fi report aggregates and limit the airtime of the frames that they hold"
    return [
        Edit(
            driver,
            r"\tif \(info->flags & IEEE80211_TX_CTL_NO_ACK\)\n\t\thwsim_flags \|= HWSIM_TX_CTL_NO_ACK;\n",
            "\tif (info->flags & IEEE80211_TX_CTL_NO_ACK)\n\t\thwsim_flags |= HWSIM_TX_CTL_NO_ACK;\n\n"
            "\tif (info->flags & IEEE80211_TX_CTL_AMPDU)\n\t\thwsim_flags |= BIT(3);\n",
            reason,
            renamed,
        ),
        # A frame of an aggregate that was not acknowledged leaves a hole, which a block acknowledgment request closes.
        Edit(
            driver,
            r"\tieee80211_tx_status_irqsafe\(data2->hw, skb\);\n\treturn 0;\nout:\n",
            "\tif (hwsim_flags & BIT(4)) {\n"
            "\t\ttxi->flags |= IEEE80211_TX_STAT_AMPDU;\n"
            "\t\ttxi->status.ampdu_len = (hwsim_flags >> 8) & 0xff;\n"
            "\t\ttxi->status.ampdu_ack_len = (hwsim_flags >> 16) & 0xff;\n\t}\n"
            "\tif ((txi->flags & IEEE80211_TX_CTL_AMPDU) && !(hwsim_flags & HWSIM_TX_STAT_ACK))\n"
            "\t\ttxi->flags |= IEEE80211_TX_STAT_AMPDU_NO_BACK;\n\n"
            "\tmac80211_hwsim_done(data2->hw, skb);\n\treturn 0;\nout:\n",
            reason,
            renamed,
        ),
        # A status lowers the airtime that is pending, so the next frames may leave the queues.
        Edit(
            driver,
            r"static int hwsim_tx_info_frame_received_nl\(",
            "static void mac80211_hwsim_done(struct ieee80211_hw *hw, struct sk_buff *skb)\n{\n"
            "\tstruct ieee80211_hdr *hdr = (struct ieee80211_hdr *)skb->data;\n"
            "\tstruct ieee80211_sta *sta = NULL;\n\tu8 receiver[ETH_ALEN], sender[ETH_ALEN];\n"
            "\tbool data = ieee80211_is_data(hdr->frame_control);\n\tint i;\n\n"
            "\tether_addr_copy(receiver, hdr->addr1);\n"
            "\tif (data)\n\t\tether_addr_copy(sender, hdr->addr2);\n"
            "\tieee80211_tx_status_ni(hw, skb);\n\tif (!data)\n\t\treturn;\n\n"
            "\tlocal_bh_disable();\n\trcu_read_lock();\n"
            "\tsta = ieee80211_find_sta_by_ifaddr(hw, receiver, sender);\n"
            "\tfor (i = 0; sta && i < ARRAY_SIZE(sta->txq); i++)\n\t\tif (sta->txq[i])\n"
            "\t\t\tieee80211_handle_wake_tx_queue(hw, sta->txq[i]);\n"
            "\trcu_read_unlock();\n\tlocal_bh_enable();\n}\n\n"
            "static int hwsim_tx_info_frame_received_nl(",
            reason,
            renamed,
        ),
        Edit(
            driver,
            r"\tieee80211_hw_set\(hw, AMPDU_AGGREGATION\);\n",
            "\tieee80211_hw_set(hw, AMPDU_AGGREGATION);\n"
            "\twiphy_ext_feature_set(hw->wiphy, NL80211_EXT_FEATURE_AQL);\n",
            reason,
            renamed,
        ),
        Edit(driver, r"#define WARN_QUEUE \d+\n", "#define WARN_QUEUE 4000\n", reason, renamed),
        Edit(driver, r"#define MAX_QUEUE \d+\n", "#define MAX_QUEUE 5000\n", reason, renamed),
    ]


def parameters(source: Path) -> list[str]:
    """Returns the words of the command line of a kernel from this source."""
    return ["seccomp=on"] if STOPS.found(source) else []


def here() -> Recipe:
    """Returns the recipe for this machine's processor. Raises :class:`bentpipe.InputError` if it is not x86-64."""
    from bentpipe import _native

    state: Any = _native.processor_state_bytes()
    if state is None:
        raise InputError("User-Mode Linux, and so the clock `kernel`, needs an x86-64 processor")
    return recipe(state)


def missing(configuration: str, result: str) -> list[str]:
    r"""Returns the lines of a configuration that the kernel's own tool did not accept.

    >>> missing("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=y\n", "CONFIG_A=y\n# CONFIG_C is not set\n")
    ['CONFIG_C=y']
    """
    lines = set(result.splitlines())
    names = {line.partition("=")[0] for line in lines}
    off = re.compile(r"# (CONFIG_\w+) is not set")
    return [
        line
        for line in configuration.splitlines()
        if (line.startswith("CONFIG_") and line not in lines)
        or ((match := off.match(line)) and match[1] in names)
    ]
