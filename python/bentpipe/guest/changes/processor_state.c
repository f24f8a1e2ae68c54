/*
 * room for BENTPIPE_STATE_BYTES bytes of processor state
 *
 * why:      User-Mode Linux keeps the processor's state of each process in a field of fixed size, which has room for
 *           AVX-512 and protection keys. Processors with AMX have four times as much, and a kernel without the room
 *           ends at its first process. Since Linux 6.16 the field has the size that the processor needs.
 * only:     processor state above 2696 bytes
 * only:     arch/um/os-Linux/skas/process.c lacks int using_seccomp;
 * licence:  Dual MIT/GPL
 */

/*
 * file:     arch/x86/um/user-offsets.c
 * replaces: DEFINE_LONGS(HOST_FP_SIZE, 2696);
 */
	DEFINE_LONGS(HOST_FP_SIZE, BENTPIPE_STATE_BYTES);
