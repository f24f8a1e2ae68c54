//! A program of this machine as a flow of an emulation: iperf3, curl, ping, or anything else that
//! uses the network.
//!
//! ```toml
//! [flow.app]
//! kind = "command"
//! run = "iperf3 -c {to} -p {port} -t 30 -J"
//! serve = "iperf3 -s -1 -p {port}"
//! ```
//!
//! `serve` is started before the run at the flow's destination, `run` at the flow's start time at
//! its source. The text is split into words as by a POSIX shell (quotes and backslashes; `#` starts
//! a comment), but without a shell: there are no variables, pipes or redirections. In a word,
//! `{to}` and `{from}` are replaced by the IPv4 addresses of the flow's ends, `{port}` by a port
//! reserved for the flow, `{{` and `}}` by braces.
//!
//! The program determines the traffic. The flow's transport determines the settings of its hosts.
//! With `tcp`, its congestion control becomes the hosts' default, which the program may override,
//! and its options apply as for other flows, as far as they are settings of the host. `udp` sets
//! nothing.
//!
//! Limits: a command needs real hosts, so it cannot be simulated.

use super::{Actions, Answers, App, End, Event, Workload};
use bentpipe_core::{Problems, Sample, Stream, Tables, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// A program of this machine, such as iperf3, curl or ping, that runs at the flow's ends in an
/// emulation. It cannot be simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Program and arguments to run at the flow's source from the flow's start. In a word, {to} and
    /// {from} are replaced by the addresses of the flow's ends, {port} by a port of the flow.
    pub run: String,
    /// Program and arguments to run at the flow's destination, started before the run, with the
    /// same placeholders. If unset, nothing is started there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serve: Option<String>,
}

/// The values of the placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placeholders {
    /// Address of the flow's destination.
    pub to: Ipv4Addr,
    /// Address of the flow's source.
    pub from: Ipv4Addr,
    /// The flow's port at its destination.
    pub port: u16,
}

/// Splits a command into words and replaces the placeholders. Returns the problem and the allowed
/// values if that fails.
pub fn words(command: &str, places: &Placeholders) -> Result<Vec<String>, String> {
    if command.contains('\0') {
        return Err("contains a character of value 0; allowed: text without it".to_owned());
    }
    let words = shlex::split(command)
        .ok_or("unbalanced quotation mark or trailing backslash; allowed: words as in a shell")?;
    if words.first().is_none_or(String::is_empty) {
        return Err("names no program; allowed: a program and its arguments".to_owned());
    }
    words.iter().map(|word| filled(word, places)).collect()
}

fn filled(word: &str, places: &Placeholders) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = word;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = [
            ("{{", "{".to_owned()),
            ("}}", "}".to_owned()),
            ("{to}", places.to.to_string()),
            ("{from}", places.from.to_string()),
            ("{port}", places.port.to_string()),
        ];
        let Some((placeholder, value)) = known.iter().find(|(placeholder, _)| rest.starts_with(placeholder))
        else {
            let end = rest.find('}').map_or(rest.len(), |end| end + 1);
            return Err(format!(
                "unknown placeholder {}; allowed: {{to}}, {{from}}, {{port}}, {{{{ and }}}} for braces",
                &rest[..end]
            ));
        };
        text.push_str(value);
        rest = &rest[placeholder.len()..];
    }
    text.push_str(rest);
    Ok(text)
}

impl Tables for Config {}

impl Sample for Config {
    const SAMPLE: &'static str = r#"run = "true""#;
}

impl Workload for Config {
    fn build(&self, _end: End, _plan: Stream) -> Box<dyn App> {
        Box::new(ExternalProgram)
    }

    fn is_elastic(&self) -> bool {
        false
    }

    /// The traffic of a program is unknown: at most packets of an Ethernet.
    fn answers(&self) -> Answers {
        Answers::Messages(1460)
    }

    fn check(&self, problems: &mut Problems) {
        let anywhere = Placeholders { to: Ipv4Addr::LOCALHOST, from: Ipv4Addr::LOCALHOST, port: 1 };
        for (key, command) in [("run", Some(&self.run)), ("serve", self.serve.as_ref())] {
            if let Some(Err(wrong)) = command.map(|command| words(command, &anywhere)) {
                problems.add(key, wrong);
            }
        }
    }
}

/// The application of a flow with traffic from a real program. The model does nothing.
struct ExternalProgram;

impl App for ExternalProgram {
    fn on(&mut self, _: Time, _: u16, _: Event, _: &mut Stream, _: &mut Actions) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: Placeholders =
        Placeholders { to: Ipv4Addr::new(198, 18, 0, 2), from: Ipv4Addr::new(198, 18, 0, 1), port: 49152 };

    #[test]
    fn words_are_split_as_by_a_shell_before_places_are_filled() {
        let words = |command| words(command, &PLACES).unwrap();
        assert_eq!(words("iperf3 -c {to} -p{port}"), ["iperf3", "-c", "198.18.0.2", "-p49152"]);
        assert_eq!(words(r#"a 'b c' "d\"e" f\ g"#), ["a", "b c", "d\"e", "f g"]);
        assert_eq!(words("awk '{{print $1}}' {from}:{port}"), ["awk", "{print $1}", "198.18.0.1:49152"]);
        assert_eq!(words("echo $HOME; rm *"), ["echo", "$HOME;", "rm", "*"]);
        assert_eq!(words("a '' b"), ["a", "", "b"]);
    }

    #[test]
    fn invalid_commands_are_refused() {
        for (command, why) in [
            ("", "no program"),
            ("  ", "no program"),
            ("'' -c", "no program"),
            ("a 'b", "unbalanced quotation mark"),
            ("a {host}", "unknown placeholder {host}"),
            ("a {to", "unknown placeholder {to;"),
            ("a }", "unknown placeholder }"),
            ("a \0", "value 0"),
        ] {
            let refused = words(command, &PLACES).unwrap_err();
            assert!(refused.contains(why) && refused.contains("allowed: "), "{command:?}: {refused}");
        }
    }
}
