//! Tests whether BPF can be used on this machine, and finds the reason if not.

use std::{fs, io};

use crate::{bpf, objects};

/// The reason why BPF cannot be used. Its text includes a remedy.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// This build was compiled without BPF.
    #[error(
        "this bentpipe was built without BPF, as the headers of libelf and zlib were not there; install libelf-dev, \
         zlib1g-dev, pkg-config and make (Debian's names), then build again"
    )]
    NotBuilt,
    /// The process lacks capabilities.
    #[error(
        "BPF needs {}, which this process lacks; run as root, or give the program these capabilities", .0.join(", ")
    )]
    Capabilities(Vec<&'static str>),
    /// The process is root only in a user namespace.
    #[error("the kernel refuses BPF in a user namespace (rootless containers have one); run as the machine's root")]
    UserNamespace,
    /// The kernel does not provide its type information (BTF).
    #[error(
        "this kernel does not show its types (/sys/kernel/btf/vmlinux is missing), which BPF programs are fitted to; \
         mount /sys, or use a kernel with CONFIG_DEBUG_INFO_BTF, as distributions' are"
    )]
    NoTypes,
    /// The kernel is too old.
    #[error("congestion controls by BPF need Linux 6.4, and this is {0}; use a newer kernel")]
    Kernel(String),
    /// All conditions hold, but the kernel still refuses; a seccomp filter or a security module may
    /// be the reason.
    #[error(
        "the kernel refuses BPF though this process has the capabilities: {0} (in a container: allow bpf() in its \
         seccomp profile; with lockdown: see /sys/kernel/security/lockdown)"
    )]
    Refused(#[source] io::Error),
}

/// Checks that the kernel accepts congestion controls from this process and lets it log
/// connections. To find out, it loads one program of each kind and unloads it, which takes a few
/// milliseconds.
pub fn available() -> Result<(), Unavailable> {
    if !bpf::IS_BUILT {
        return Err(Unavailable::NotBuilt);
    }
    bpf::try_congestion(objects::CONGESTION[0].1).and_then(|()| bpf::try_tracer(objects::LOG)).map_err(reason)
}

/// Returns the cause of a refusal.
fn reason(refusal: io::Error) -> Unavailable {
    if let Some(missing) = missing_capabilities() {
        return Unavailable::Capabilities(missing);
    }
    if fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !is_whole_range(&map)) {
        return Unavailable::UserNamespace;
    }
    if !fs::exists("/sys/kernel/btf/vmlinux").unwrap_or(false) {
        return Unavailable::NoTypes;
    }
    match fs::read_to_string("/proc/sys/kernel/osrelease") {
        Ok(release) if is_before_6_4(&release) => Unavailable::Kernel(release.trim().to_owned()),
        _ => Unavailable::Refused(refusal),
    }
}

/// Returns the required capabilities that the process lacks. CAP_SYS_ADMIN includes CAP_BPF and
/// CAP_PERFMON.
fn missing_capabilities() -> Option<Vec<&'static str>> {
    const SYS_ADMIN: u64 = 1 << 21;
    const NEEDED: [(&str, u64); 3] =
        [("CAP_BPF", 1 << 39 | SYS_ADMIN), ("CAP_PERFMON", 1 << 38 | SYS_ADMIN), ("CAP_NET_ADMIN", 1 << 12)];
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let effective = u64::from_str_radix(effective.trim(), 16).ok()?;
    let missing: Vec<_> =
        NEEDED.iter().filter(|(_, any)| effective & any == 0).map(|(name, _)| *name).collect();
    (!missing.is_empty()).then_some(missing)
}

/// Returns true if this is the map (user_namespaces(7)) of the machine's initial user namespace.
fn is_whole_range(map: &str) -> bool {
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

fn is_before_6_4(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => (major, minor) < (6, 4),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_releases_and_user_maps_are_parsed() {
        assert!(is_before_6_4("6.1.0-18-amd64\n"));
        assert!(is_before_6_4("5.15.0"));
        assert!(!is_before_6_4("6.4.0"));
        assert!(!is_before_6_4("6.18.44-fc-v595\n"));
        assert!(!is_before_6_4("7.0"));
        assert!(is_whole_range("         0          0 4294967295\n"));
        assert!(!is_whole_range("         0       1000          1\n"));
    }

    #[cfg(not(feature = "bpf"))]
    #[test]
    fn without_the_feature_the_message_explains_how_to_build_it() {
        let message = available().unwrap_err().to_string();
        assert!(message.contains("libelf-dev") && message.contains("build again"), "{message}");
    }
}
