"""How a program of a guest and the guest's kernel take turns, where the program stops itself."""

from __future__ import annotations

from typing import Final

from .edit import Edit, Feature

#: Since Linux 6.16 a guest's programs can stop themselves at each system call, by seccomp and a signal, where older
#: kernels stop them by ptrace. The signal's frame has the floating-point unit, of any size.
STOPS: Final = Feature("arch/um/os-Linux/skas/process.c", "int using_seccomp;")

#: How often a program and the guest's kernel let other processes run before they sleep. Once is enough where the other
#: one is all that runs on the processor.
YIELDS: Final = 16


def turns() -> list[Edit]:
    """Unmodified, a program that stops itself wakes the guest's kernel and then sleeps, and the kernel does the same
    when it lets the program go on. On the one processor that a guest has, each can also let the other one run: who
    waits yields some times before it sleeps, and only who sleeps is woken. A bit beside the number of whose turn it is
    says that the other one sleeps."""
    reason = "a program and the kernel yield to each other before they sleep"
    header = "arch/um/include/shared/skas/stub-data.h"
    stub = "arch/um/kernel/skas/stub.c"
    kernel = "arch/um/os-Linux/skas/process.c"
    return [
        Edit(
            header,
            r"#define FUTEX_IN_KERN 1\n",
            "#define FUTEX_IN_KERN 1\n"
            "/* Set by who waits for the other side, before it sleeps. */\n#define FUTEX_SLEEPS 2\n"
            f"/* How often it yields before that. */\n#define FUTEX_YIELDS {YIELDS}\n\n"
            "/* Makes it the turn of a side. Returns whether the other one sleeps. */\n"
            "static __always_inline int futex_turn(unsigned int *futex, unsigned int side)\n{\n"
            "\treturn __atomic_exchange_n(futex, side, __ATOMIC_SEQ_CST) & FUTEX_SLEEPS;\n}\n\n"
            "static __always_inline int futex_is(unsigned int *futex, unsigned int side)\n{\n"
            "\treturn (__atomic_load_n(futex, __ATOMIC_SEQ_CST) & FUTEX_IN_KERN) == side;\n}\n\n"
            "/* Announces that who waits for the end of the turn of a side will sleep. Returns whether it may. */\n"
            "static __always_inline int futex_sleeps(unsigned int *futex, unsigned int side)\n{\n"
            "\tunsigned int was = side;\n\n"
            "\treturn __atomic_compare_exchange_n(futex, &was, side | FUTEX_SLEEPS, 0,\n"
            "\t\t\t\t\t   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||\n"
            "\t       was == (side | FUTEX_SLEEPS);\n}\n",
            reason,
            only=STOPS,
        ),
        # The program's side.
        Edit(
            stub,
            r"\td->futex = FUTEX_IN_KERN;\n\tdo {\n",
            "\tif (futex_turn(&d->futex, FUTEX_IN_KERN)) do {\n",
            reason,
            only=STOPS,
        ),
        Edit(
            stub,
            r"\n\tdo {\n\t\tres = stub_syscall4\(",
            "\n\tfor (res = 0; res < FUTEX_YIELDS && futex_is(&d->futex, FUTEX_IN_KERN); res++)\n"
            "\t\tstub_syscall0(__NR_sched_yield);\n\n"
            "\tres = 0;\n\twhile (futex_sleeps(&d->futex, FUTEX_IN_KERN)) {\n\t\tres = stub_syscall4(",
            reason,
            only=STOPS,
        ),
        Edit(
            stub,
            r"FUTEX_WAIT, FUTEX_IN_KERN, 0\);\n\t} while \(res == -EINTR \|\| d->futex == FUTEX_IN_KERN\);\n\n"
            r"\tif \(res < 0 && ",
            "FUTEX_WAIT, FUTEX_IN_KERN | FUTEX_SLEEPS, 0);\n\t}\n\n\tif (res < 0 && res != -EINTR && ",
            reason,
            only=STOPS,
        ),
        Edit(
            "arch/um/kernel/skas/stub_exe.c",
            r"\t\t\tBPF_JUMP\(BPF_JMP \| BPF_JEQ \| BPF_K, __NR_futex,\n\t\t\t\t 7, 0\),\n",
            "\t\t\tBPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sched_yield,\n\t\t\t\t 8, 0),\n"
            "\t\t\tBPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_futex,\n\t\t\t\t 7, 0),\n",
            reason,
            only=STOPS,
        ),
        # The kernel's.
        Edit(
            kernel,
            r"\t\t\tdata->futex = FUTEX_IN_CHILD;\n\t\t\tCATCH_EINTR",
            "\t\t\tif (futex_turn(&data->futex, FUTEX_IN_CHILD))\n\t\t\t\tCATCH_EINTR",
            reason,
            only=STOPS,
        ),
        Edit(
            kernel,
            r"\t\tdo {\n(?=\t\t\t/\*\n\t\t\t \* We need to check whether the child is still alive\n)",
            "\t\tfor (ret = 0; ret < FUTEX_YIELDS && futex_is(&data->futex, FUTEX_IN_CHILD); ret++)\n"
            "\t\t\tsyscall(__NR_sched_yield);\n\n\t\tdo {\n",
            reason,
            only=STOPS,
        ),
        Edit(
            kernel,
            r"\t\t\tret = syscall\(__NR_futex, &data->futex,\n\t\t\t\t      FUTEX_WAIT, FUTEX_IN_CHILD,\n",
            "\t\t\tif (!futex_sleeps(&data->futex, FUTEX_IN_CHILD))\n\t\t\t\tbreak;\n\n"
            "\t\t\tret = syscall(__NR_futex, &data->futex,\n"
            "\t\t\t\t      FUTEX_WAIT, FUTEX_IN_CHILD | FUTEX_SLEEPS,\n",
            reason,
            only=STOPS,
        ),
        Edit(
            kernel,
            r"while \(data->futex == FUTEX_IN_CHILD\);\n",
            "while (futex_is(&data->futex, FUTEX_IN_CHILD));\n",
            reason,
            only=STOPS,
        ),
    ]


def calls() -> list[Edit]:
    """Unmodified, a program's system call is a signal to itself: the machine's kernel writes registers and
    floating-point unit to the stub's stack, where the guest's kernel reads them. A program that calls the stub instead,
    with the registers of the instruction ``syscall`` and the address in rcx, writes the general registers itself into
    what the last signal has left there, which is always in the same place. The floating-point unit is what it was when
    the program's thread was last let go on; a call may change it, as any function may. ``call *%rcx`` has two bytes, as
    ``syscall`` has, so that the kernel can have it repeated. Programs find the address as AT_SYSINFO in getauxval(3).
    """
    reason = "a program can call the kernel without a signal"
    # The order of the registers in a signal's frame (REG_R8 and so on, <sys/ucontext.h>), each of 8 bytes; rcx, rsp and
    # rip follow, at 112, 120 and 128.
    registers = {
        name: number
        for number, name in enumerate(
            ("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax")
        )
        if name != "r11"
    }
    saved = "".join(f'\t\t"movq %%{name}, {8 * number}(%%rcx);"\n' for name, number in registers.items())
    return [
        Edit(
            "arch/um/kernel/skas/stub.c",
            r'void __section\("\.__syscall_stub"\)\nstub_signal_restorer\(void\)\n',
            '__attribute__((naked)) void __section(".__syscall_stub")\n'
            "stub_call(void)\n{\n\tasm volatile (\n"
            "\t\t/* The stub's data, and the registers in the frame of the last signal. */\n"
            '\t\t"lea 0(%%rip), %%r11;"\n'
            '\t\t"andq %0, %%r11;"\n'
            '\t\t"addq %1, %%r11;"\n'
            '\t\t"movzwl %c2(%%r11), %%ecx;"\n'
            '\t\t"leaq %c4(%%r11, %%rcx), %%rcx;"\n'
            f"{saved}"
            '\t\t"leaq stub_call(%%rip), %%rsi;"\n'
            '\t\t"movq %%rsi, 112(%%rcx);"\n'
            '\t\t"popq 128(%%rcx);"\n'
            '\t\t"movq %%rsp, 120(%%rcx);"\n'
            "\t\t/* What the signal would have said: the number of the call. */\n"
            '\t\t"movzwl %c3(%%r11), %%esi;"\n'
            '\t\t"leaq %c4(%%r11, %%rsi), %%rsi;"\n'
            '\t\t"movl %%eax, %c5(%%rsi);"\n'
            "\t\t/* The handler returns from this stack by stub_signal_restorer. */\n"
            '\t\t"leaq -%c6(%%rcx), %%rdx;"\n'
            '\t\t"leaq -8(%%rdx), %%rsp;"\n'
            '\t\t"movl %7, %%edi;"\n'
            '\t\t"jmp stub_signal_interrupt"\n'
            '\t\t:: "i" (~(UM_KERN_PAGE_SIZE - 1)), "i" (UM_KERN_PAGE_SIZE),\n'
            '\t\t   "i" (offsetof(struct stub_data, mctx_offset)),\n'
            '\t\t   "i" (offsetof(struct stub_data, si_offset)),\n'
            '\t\t   "i" (offsetof(struct stub_data, sigstack)),\n'
            '\t\t   "i" (offsetof(siginfo_t, si_syscall)),\n'
            '\t\t   "i" (offsetof(ucontext_t, uc_mcontext)), "i" (SIGSYS));\n}\n\n'
            'void __section(".__syscall_stub")\nstub_signal_restorer(void)\n',
            reason,
            only=STOPS,
        ),
        Edit(
            "arch/um/os-Linux/skas/process.c",
            r"int using_seccomp;\n",
            "int using_seccomp;\n\nextern void stub_call(void);\n\n"
            "/* Where a program calls the kernel, if it can. */\n"
            "unsigned long stub_call_address(void)\n{\n"
            "\tif (!using_seccomp)\n\t\treturn 0;\n"
            "\treturn STUB_CODE + (unsigned long) stub_call - (unsigned long) __syscall_stub_start;\n}\n",
            reason,
            only=STOPS,
        ),
        Edit(
            "arch/x86/um/asm/elf.h",
            r"#define ARCH_DLINFO\tNEW_AUX_ENT\(AT_SYSINFO_EHDR, um_vdso_addr\)\n",
            "extern unsigned long stub_call_address(void);\n#define AT_SYSINFO 32\n"
            "#define ARCH_DLINFO do { NEW_AUX_ENT(AT_SYSINFO_EHDR, um_vdso_addr); "
            "NEW_AUX_ENT(AT_SYSINFO, stub_call_address()); } while (0)\n",
            reason,
            only=STOPS,
        ),
    ]
