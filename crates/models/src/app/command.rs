//! A program of the machine's as a flow of an emulation: iperf3, curl, ping, whatever talks over a network.
//!
//! ```toml
//! app = { kind = "command", run = "iperf3 -c {to} -p {port} -t 30 -J", serve = "iperf3 -s -1 -p {port}" }
//! ```
//!
//! `serve` starts before the run at the flow's destination, `run` at the flow's start time at its source. The text is split
//! into words as a POSIX shell does (quotes and backslashes; `#` begins a comment), but no shell sees it: there are no
//! variables, pipes or redirections. Then `{to}` and `{from}` in a word stand for the IPv4 addresses of the flow's ends, `{port}` for
//! a port that is the flow's own, `{{` and `}}` for braces.
//!
//! What the program sends is its own business; the flow's transport says how its hosts are set up. Over `tcp` its
//! congestion control is what the hosts' connections get unless the program asks for another, and its
//! options are set as for other flows where they are a matter of the host; `udp` sets nothing.
//!
//! Limits: a command needs real hosts, so it cannot be simulated.

use super::{Actions, App, End, Event, Workload};
use bentpipe_core::{Problems, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// A program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Program and arguments, run at the flow's source; {to}, {from} and {port} stand for addresses and a port.
    pub run: String,
    /// Program and arguments, run at the flow's destination and started before; none when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serve: Option<String>,
}

/// What the placeholders stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// Address of the flow's destination.
    pub to: Ipv4Addr,
    /// Address of the flow's source.
    pub from: Ipv4Addr,
    /// The flow's port at its destination.
    pub port: u16,
}

/// The words of a command, or what is wrong with it and what is allowed.
pub fn words(command: &str, places: &Places) -> Result<Vec<String>, String> {
    if command.contains('\0') {
        return Err("a character of value 0 ends a word for the kernel; allowed: text without".to_owned());
    }
    let words = shlex::split(command)
        .ok_or("a quotation mark or a backslash has no counterpart; allowed: words as in a shell")?;
    if words.first().is_none_or(String::is_empty) {
        return Err("there is no program; allowed: a program and its arguments".to_owned());
    }
    words.iter().map(|word| filled(word, places)).collect()
}

fn filled(word: &str, places: &Places) -> Result<String, String> {
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
                "there is no placeholder {}; allowed: {{to}}, {{from}}, {{port}}, {{{{ and }}}} for braces",
                &rest[..end]
            ));
        };
        text.push_str(value);
        rest = &rest[placeholder.len()..];
    }
    text.push_str(rest);
    Ok(text)
}

impl Workload for Config {
    fn build(&self, _end: End, _plan: Stream) -> Box<dyn App> {
        Box::new(Elsewhere)
    }

    fn is_elastic(&self) -> bool {
        false
    }

    fn check(&self, problems: &mut Problems) {
        let anywhere = Places { to: Ipv4Addr::LOCALHOST, from: Ipv4Addr::LOCALHOST, port: 1 };
        for (key, command) in [("run", Some(&self.run)), ("serve", self.serve.as_ref())] {
            if let Some(Err(wrong)) = command.map(|command| words(command, &anywhere)) {
                problems.add(key, wrong);
            }
        }
    }
}

/// What talks is a program, outside of the models.
struct Elsewhere;

impl App for Elsewhere {
    fn on(&mut self, _: Time, _: u16, _: Event, _: &mut Stream, _: &mut Actions) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: Places =
        Places { to: Ipv4Addr::new(198, 18, 0, 2), from: Ipv4Addr::new(198, 18, 0, 1), port: 49152 };

    #[test]
    fn words_are_split_as_by_a_shell_and_then_filled() {
        let words = |command| words(command, &PLACES).unwrap();
        assert_eq!(words("iperf3 -c {to} -p{port}"), ["iperf3", "-c", "198.18.0.2", "-p49152"]);
        assert_eq!(words(r#"a 'b c' "d\"e" f\ g"#), ["a", "b c", "d\"e", "f g"]);
        assert_eq!(words("awk '{{print $1}}' {from}:{port}"), ["awk", "{print $1}", "198.18.0.1:49152"]);
        assert_eq!(words("echo $HOME; rm *"), ["echo", "$HOME;", "rm", "*"]);
        assert_eq!(words("a '' b"), ["a", "", "b"]);
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for (command, why) in [
            ("", "no program"),
            ("  ", "no program"),
            ("'' -c", "no program"),
            ("a 'b", "no counterpart"),
            ("a {host}", "no placeholder {host}"),
            ("a {to", "no placeholder {to;"),
            ("a }", "no placeholder }"),
            ("a \0", "value 0"),
        ] {
            let refused = words(command, &PLACES).unwrap_err();
            assert!(refused.contains(why) && refused.contains("allowed: "), "{command:?}: {refused}");
        }
    }
}
