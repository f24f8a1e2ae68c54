/*
 * room for BENTPIPE_STATE_BYTES bytes of processor state
 *
 * why:      User-Mode Linux keeps each process' processor state in a field of fixed size, which
 *           suffices for AVX-512 and protection keys. Processors with AMX have four times as much
 *           state, and a kernel without space for it ends at its first process. Since Linux 6.16
 *           the field has the size that the processor needs.
 * only:     processor state above 2696 bytes
 * only:     arch/um/os-Linux/skas/process.c lacks int using_seccomp;
 * licence:  Dual MIT/GPL
 */

/*
 * file:     arch/x86/um/user-offsets.c
 * replaces: DEFINE_LONGS(HOST_FP_SIZE, 2696);
 */
	DEFINE_LONGS(HOST_FP_SIZE, BENTPIPE_STATE_BYTES);
