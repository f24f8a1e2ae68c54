/*
 * a program can call the kernel without a signal
 *
 * why:      Without this change, a program's system call is a signal to the program itself: the
 *           machine's kernel writes registers and floating-point unit to the stub's stack, where
 *           the guest's kernel reads them. Instead, a program can call the stub, with the registers
 *           of the instruction syscall and the address in rcx. The stub writes the general
 *           registers into the frame that the last signal has left, which is always in the same
 *           place. The frame contains the floating-point unit at the thread's last start; a call
 *           may change the unit, as any function may. "call *%rcx" has two bytes, like "syscall",
 *           so that the kernel can make the program repeat it. Programs find the address as
 *           AT_SYSINFO in getauxval(3).
 * only:     arch/um/os-Linux/skas/process.c has int using_seccomp;
 * licence:  Dual MIT/GPL
 */

/*
 * file:     arch/um/kernel/skas/stub.c
 * replaces: void __section(".__syscall_stub")
 *           stub_signal_restorer(void)
 * why:      The registers have 8 bytes each, in the order of a signal's frame (REG_R8 and so on,
 *           <sys/ucontext.h>), in which rcx, rsp and rip are at 112, 120 and 128. As with syscall,
 *           r11 is not preserved.
 */
__attribute__((naked)) void __section(".__syscall_stub")
stub_call(void)
{
	asm volatile (
		/* The stub's data, and the registers in the frame of the last signal. */
		"lea 0(%%rip), %%r11;"
		"andq %0, %%r11;"
		"addq %1, %%r11;"
		"movzwl %c2(%%r11), %%ecx;"
		"leaq %c4(%%r11, %%rcx), %%rcx;"
		"movq %%r8, 0(%%rcx);"
		"movq %%r9, 8(%%rcx);"
		"movq %%r10, 16(%%rcx);"
		"movq %%r12, 32(%%rcx);"
		"movq %%r13, 40(%%rcx);"
		"movq %%r14, 48(%%rcx);"
		"movq %%r15, 56(%%rcx);"
		"movq %%rdi, 64(%%rcx);"
		"movq %%rsi, 72(%%rcx);"
		"movq %%rbp, 80(%%rcx);"
		"movq %%rbx, 88(%%rcx);"
		"movq %%rdx, 96(%%rcx);"
		"movq %%rax, 104(%%rcx);"
		"leaq stub_call(%%rip), %%rsi;"
		"movq %%rsi, 112(%%rcx);"
		"popq 128(%%rcx);"
		"movq %%rsp, 120(%%rcx);"
		/* What the signal would have said: the number of the call. */
		"movzwl %c3(%%r11), %%esi;"
		"leaq %c4(%%r11, %%rsi), %%rsi;"
		"movl %%eax, %c5(%%rsi);"
		/* The handler returns from this stack by stub_signal_restorer. */
		"leaq -%c6(%%rcx), %%rdx;"
		"leaq -8(%%rdx), %%rsp;"
		"movl %7, %%edi;"
		"jmp stub_signal_interrupt"
		:: "i" (~(UM_KERN_PAGE_SIZE - 1)), "i" (UM_KERN_PAGE_SIZE),
		   "i" (offsetof(struct stub_data, mctx_offset)),
		   "i" (offsetof(struct stub_data, si_offset)),
		   "i" (offsetof(struct stub_data, sigstack)),
		   "i" (offsetof(siginfo_t, si_syscall)),
		   "i" (offsetof(ucontext_t, uc_mcontext)), "i" (SIGSYS));
}

void __section(".__syscall_stub")
stub_signal_restorer(void)

/*
 * file:     arch/um/os-Linux/skas/process.c
 * replaces: int using_seccomp;
 */
int using_seccomp;

extern void stub_call(void);

/* Where a program calls the kernel, if it can. */
unsigned long stub_call_address(void)
{
	if (!using_seccomp)
		return 0;
	return STUB_CODE + (unsigned long) stub_call - (unsigned long) __syscall_stub_start;
}

/*
 * file:     arch/x86/um/asm/elf.h
 * replaces: #define ARCH_DLINFO	NEW_AUX_ENT(AT_SYSINFO_EHDR, um_vdso_addr)
 */
extern unsigned long stub_call_address(void);
#define AT_SYSINFO 32
#define ARCH_DLINFO do { NEW_AUX_ENT(AT_SYSINFO_EHDR, um_vdso_addr); NEW_AUX_ENT(AT_SYSINFO, stub_call_address()); } while (0)
