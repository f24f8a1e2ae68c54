/*
 * a program and the kernel yield to each other before they sleep
 *
 * why:      Since Linux 6.16 a program can stop itself at a system call. Without this change, the
 *           program wakes the guest's kernel and then sleeps, and the kernel does the same when it
 *           lets the program continue. On the single processor of a guest, each side can instead
 *           yield to the other one. The waiting side yields several times before it sleeps, and is
 *           woken only if it sleeps. A bit of the futex, next to the number of the side whose turn
 *           it is, indicates that the other side sleeps.
 * only:     arch/um/os-Linux/skas/process.c has int using_seccomp;
 * licence:  Dual MIT/GPL
 */

/*
 * file:     arch/um/include/shared/skas/stub-data.h
 * after:    #define FUTEX_IN_KERN 1
 * why:      One yield suffices if nothing but the other side runs on the processor.
 */
/* Set by who waits for the other side, before it sleeps. */
#define FUTEX_SLEEPS 2
/* How often it yields before that. */
#define FUTEX_YIELDS 16

/* Makes it the turn of a side. Returns whether the other one sleeps. */
static __always_inline int futex_turn(unsigned int *futex, unsigned int side)
{
	return __atomic_exchange_n(futex, side, __ATOMIC_SEQ_CST) & FUTEX_SLEEPS;
}

static __always_inline int futex_is(unsigned int *futex, unsigned int side)
{
	return (__atomic_load_n(futex, __ATOMIC_SEQ_CST) & FUTEX_IN_KERN) == side;
}

/* Announces that who waits for the end of the turn of a side will sleep. Returns whether it may. */
static __always_inline int futex_sleeps(unsigned int *futex, unsigned int side)
{
	unsigned int was = side;

	return __atomic_compare_exchange_n(futex, &was, side | FUTEX_SLEEPS, 0,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
	       was == (side | FUTEX_SLEEPS);
}

/*
 * file:     arch/um/kernel/skas/stub.c
 * replaces: d->futex = FUTEX_IN_KERN;
 *           do {
 * why:      The program's side.
 */
	if (futex_turn(&d->futex, FUTEX_IN_KERN)) do {

/*
 * file:     arch/um/kernel/skas/stub.c
 * replaces: do {
 *           res = stub_syscall4(__NR_futex, (unsigned long)&d->futex,
 *           FUTEX_WAIT, FUTEX_IN_KERN, 0);
 *           } while (res == -EINTR || d->futex == FUTEX_IN_KERN);
 *
 *           if (res < 0 && res != -EAGAIN)
 */
	for (res = 0; res < FUTEX_YIELDS && futex_is(&d->futex, FUTEX_IN_KERN); res++)
		stub_syscall0(__NR_sched_yield);

	res = 0;
	while (futex_sleeps(&d->futex, FUTEX_IN_KERN)) {
		res = stub_syscall4(__NR_futex, (unsigned long)&d->futex,
				    FUTEX_WAIT, FUTEX_IN_KERN | FUTEX_SLEEPS, 0);
	}

	if (res < 0 && res != -EINTR && res != -EAGAIN)

/*
 * file:     arch/um/kernel/skas/stub_exe.c
 * replaces: BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_futex,
 *           7, 0),
 */
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sched_yield,
				 8, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_futex,
				 7, 0),

/*
 * file:     arch/um/os-Linux/skas/process.c
 * replaces: data->futex = FUTEX_IN_CHILD;
 *           CATCH_EINTR(syscall(__NR_futex, &data->futex,
 *           FUTEX_WAKE, 1, NULL, NULL, 0));
 *           }
 *
 *           do {
 * why:      The kernel's side.
 */
			if (futex_turn(&data->futex, FUTEX_IN_CHILD))
				CATCH_EINTR(syscall(__NR_futex, &data->futex,
					    FUTEX_WAKE, 1, NULL, NULL, 0));
		}

		for (ret = 0; ret < FUTEX_YIELDS && futex_is(&data->futex, FUTEX_IN_CHILD); ret++)
			syscall(__NR_sched_yield);

		do {

/*
 * file:     arch/um/os-Linux/skas/process.c
 * replaces: ret = syscall(__NR_futex, &data->futex,
 *           FUTEX_WAIT, FUTEX_IN_CHILD,
 */
			if (!futex_sleeps(&data->futex, FUTEX_IN_CHILD))
				break;

			ret = syscall(__NR_futex, &data->futex,
				      FUTEX_WAIT, FUTEX_IN_CHILD | FUTEX_SLEEPS,

/*
 * file:     arch/um/os-Linux/skas/process.c
 * replaces: } while (data->futex == FUTEX_IN_CHILD);
 */
		} while (futex_is(&data->futex, FUTEX_IN_CHILD));
