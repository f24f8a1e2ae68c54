//! System calls that cause no signal in a guest. In guests whose programs run natively, the
//! instruction `syscall` causes a signal of this machine. Instead, bentpipe's guest kernel gives
//! its programs an address to call, with the same registers (docs/notes/guest-speed.md).

use nix::errno::Errno;
use std::io;

/// The entry into the kernel that runs this program.
#[derive(Clone, Copy)]
pub struct Way {
    /// Address at which a program of bentpipe's guest calls the kernel; `None` on any other kernel,
    /// where programs use the instruction.
    #[cfg(target_arch = "x86_64")]
    address: Option<usize>,
}

impl Way {
    /// Returns the entry given by this kernel in the auxiliary vector of its programs
    /// (getauxval(3)).
    #[cfg(target_arch = "x86_64")]
    pub fn of_this_kernel() -> Way {
        /// The address of a function that makes a system call (<linux/auxvec.h>). Other kernels
        /// provide it only to 32-bit programs.
        const AT_SYSINFO: libc::c_ulong = 32;
        // SAFETY: getauxval takes a number and accesses no memory of this program.
        let address = unsafe { libc::getauxval(AT_SYSINFO) } as usize;
        Way { address: (address != 0).then_some(address) }
    }

    /// Returns the instruction, since guests run on x86-64 only.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn of_this_kernel() -> Way {
        Way {}
    }

    /// Makes the system call of this number with six arguments; surplus arguments are ignored.
    /// Returns the kernel's result, or its error (errno(3)).
    ///
    /// # Safety
    /// The requirements of the system call apply.
    pub unsafe fn call(self, number: libc::c_long, arguments: [usize; 6]) -> io::Result<usize> {
        let [first, second, third, fourth, fifth, sixth] = arguments;
        #[cfg(target_arch = "x86_64")]
        if let Some(address) = self.address {
            let result: isize;
            // SAFETY: the guest's kernel preserves all registers except those of a system call and
            // those of the floating-point unit, which a function may also change. The instruction
            // has two bytes, like `syscall`, so that the kernel can repeat it.
            unsafe {
                std::arch::asm!(
                    "call rcx",
                    in("rcx") address,
                    inlateout("rax") number as isize => result,
                    in("rdi") first,
                    in("rsi") second,
                    in("rdx") third,
                    in("r10") fourth,
                    in("r8") fifth,
                    in("r9") sixth,
                    clobber_abi("C"),
                );
            }
            return usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result as i32));
        }
        // SAFETY: the caller guarantees the requirements of the system call.
        let result = unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) };
        Ok(Errno::result(result)? as usize)
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    // A stand-in for the function that the guest's kernel provides.
    std::arch::global_asm!(
        ".pushsection .text",
        ".globl bentpipe_test_call",
        "bentpipe_test_call:",
        "syscall",
        "ret",
        ".popsection"
    );

    extern "C" {
        fn bentpipe_test_call();
    }

    #[test]
    fn a_call_by_address_is_the_same_as_by_the_instruction() {
        let called = Way { address: Some(bentpipe_test_call as *const () as usize) };
        for way in [called, Way { address: None }] {
            let (reader, writer) = nix::unistd::pipe().unwrap();
            let data = b"four";
            let arguments = [writer.as_raw_fd() as usize, data.as_ptr() as usize, data.len(), 0, 0, 0];
            // SAFETY: the data is live during the call.
            assert_eq!(unsafe { way.call(libc::SYS_write, arguments) }.unwrap(), 4);
            let mut read = [0; 4];
            assert_eq!(nix::unistd::read(&reader, &mut read).unwrap(), 4);
            assert_eq!(&read, data);
            // All six arguments are used: the second page of a file is mapped.
            let file = File::open(std::env::current_exe().unwrap()).unwrap();
            let mut second = [0; 4096];
            file.read_exact_at(&mut second, 4096).unwrap();
            let (read_only, private) = (libc::PROT_READ as usize, libc::MAP_PRIVATE as usize);
            let arguments = [0, 4096, read_only, private, file.as_raw_fd() as usize, 4096];
            // SAFETY: the mapping is new, read within its length, and removed.
            unsafe {
                let page = way.call(libc::SYS_mmap, arguments).unwrap();
                assert_eq!(std::slice::from_raw_parts(page as *const u8, 4096), second);
                assert_eq!(way.call(libc::SYS_munmap, [page, 4096, 0, 0, 0, 0]).unwrap(), 0);
            }
            // SAFETY: no file has this number.
            let error = unsafe { way.call(libc::SYS_close, [usize::MAX, 0, 0, 0, 0, 0]) }.unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EBADF));
        }
    }

    #[test]
    fn a_machine_s_kernel_provides_no_address() {
        assert!(Way::of_this_kernel().address.is_none());
    }
}
