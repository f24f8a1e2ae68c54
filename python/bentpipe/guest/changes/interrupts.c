/*
 * an interrupt of no program clears no state of a processor
 *
 * why:      Each event in virtual time begins with an interrupt outside of any program. Without
 *           this change, the interrupt's registers are cleared, including the space for the
 *           processor's state, which is never read.
 * only:     arch/um/os-Linux/skas/process.c lacks int using_seccomp;
 * licence:  Dual MIT/GPL
 */

/*
 * file:     arch/um/os-Linux/signal.c
 * replaces: memset(&regs, 0, sizeof(regs));
 */
		memset(&regs, 0, __builtin_offsetof(struct uml_pt_regs, fp));
