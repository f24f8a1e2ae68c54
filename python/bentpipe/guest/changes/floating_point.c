/*
 * the floating-point unit is saved when another thread needs it
 *
 * why:      Without this change, each system call of a program copies up to 11 kB of the program's
 *           floating-point unit out of its process and back, which is a quarter of the time of a
 *           guest that carries packets. With it, they stay in the process until another thread
 *           runs, a signal arrives, or the process runs something else.
 * only:     arch/um/os-Linux/skas/process.c lacks int using_seccomp;
 * licence:  Dual MIT/GPL
 */

/*
 * file:     arch/um/os-Linux/skas/process.c
 * replaces: void userspace(struct uml_pt_regs *regs, unsigned long *aux_fp_regs)
 * why:      These are the calls of a busy thread in a guest that do not use the floating-point
 *           unit: read, write, sendto, recvfrom, getsockopt, clock_gettime, epoll_wait,
 *           timerfd_settime, io_uring_enter, futex.
 */
static struct uml_pt_regs *kept_fp;
static int kept_fp_pid;

/* Save what the process alone has, unless it belongs to next. */
void save_kept_fp(struct uml_pt_regs *next)
{
	if (kept_fp && kept_fp != next) {
		get_fp_registers(kept_fp_pid, kept_fp->fp);
		kept_fp = NULL;
	}
}

static int keeps_fp(int status, long call)
{
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP + 0x80)
		return 0;
	switch (call) {
	case 0:
	case 1:
	case 44:
	case 45:
	case 55:
	case 228:
	case 232:
	case 286:
	case 426:
	case 202:
		return 1;
	}
	return 0;
}

void userspace(struct uml_pt_regs *regs, unsigned long *aux_fp_regs)

/*
 * file:     arch/um/os-Linux/skas/process.c
 * replaces: if (put_fp_registers(pid, regs->fp)) {
 */
		if (kept_fp == regs) {
			kept_fp = NULL;
		} else if (put_fp_registers(pid, regs->fp)) {

/*
 * file:     arch/um/os-Linux/skas/process.c
 * replaces: if (get_fp_registers(pid, regs->fp)) {
 */
		if (keeps_fp(status, PT_SYSCALL_NR(regs->gp))) {
			kept_fp = regs;
			kept_fp_pid = pid;
		} else if (get_fp_registers(pid, regs->fp)) {

/*
 * file:     arch/um/os-Linux/skas/mem.c
 * after:    #include <skas.h>
 */
#include <kern_util.h>

/*
 * file:     arch/um/os-Linux/skas/mem.c
 * replaces: n = ptrace_setregs(pid, syscall_regs);
 * why:      The stub that changes a process' mappings runs in the process.
 */
	save_kept_fp(NULL);
	n = ptrace_setregs(pid, syscall_regs);

/*
 * file:     arch/um/kernel/process.c
 * replaces: to->thread.prev_sched = from;
 * why:      A kernel thread needs no floating-point unit, and a thread that ends does not outlive
 *           this switch.
 */
	if (to->mm || from->flags & PF_EXITING)
		save_kept_fp(to->mm ? &to->thread.regs.regs : NULL);
	to->thread.prev_sched = from;

/*
 * file:     arch/um/kernel/signal.c
 * replaces: if (test_thread_flag(TIF_SINGLESTEP) && (current->ptrace & PT_PTRACED))
 */
	save_kept_fp(NULL);
	if (test_thread_flag(TIF_SINGLESTEP) && (current->ptrace & PT_PTRACED))

/*
 * file:     arch/um/include/shared/kern_util.h
 * after:    struct siginfo;
 */
struct uml_pt_regs;

extern void save_kept_fp(struct uml_pt_regs *next);
