//! Search for the name that was probably meant.

/// Common synonyms of names, each with the names used in scenarios. The first of these that is
/// allowed is suggested.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("web", &["http"]),
    ("www", &["http"]),
    ("page", &["http"]),
    ("browser", &["http"]),
    ("download", &["bulk"]),
    ("upload", &["bulk"]),
    ("fileserver", &["ftp", "bulk"]),
    ("mail", &["email"]),
    ("phone", &["calls", "voice"]),
    ("voip", &["voice", "calls"]),
    ("call", &["calls", "voice"]),
    ("fifo", &["drop-tail"]),
    ("bernoulli", &["packet"]),
    ("random", &["packet"]),
    ("loss", &["packet", "probability"]),
    ("per", &["packet", "probability"]),
    ("newreno", &["reno"]),
    ("gaussian", &["normal"]),
    ("bandwidth", &["rate"]),
    ("latency", &["delay"]),
    ("pep", &["split", "proxy"]),
];

/// Terms that look like typos but are not: ABR is the available bit rate of ATM.
const OTHER_WORDS: &[&str] = &["abr"];

/// Returns the word of `allowed` that is nearest to `word`, if `word` may be a typo or a synonym of
/// it.
///
/// Case, `-` and `_` are ignored. A prefix of at least three letters matches the whole word.
/// Otherwise a third of the letters may differ (optimal string alignment distance, in which two
/// exchanged letters are one mistake).
pub(crate) fn nearest<W: AsRef<str>>(word: &str, allowed: &[W]) -> Option<String> {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
    };
    // Longer words are not typos, and the time to compute the distance grows with the product of
    // the lengths.
    if word.len() > 64 || word.is_empty() {
        return None;
    }
    let word = plain(word);
    if OTHER_WORDS.contains(&word.as_str()) {
        return None;
    }
    if let Some((_, names)) = SYNONYMS.iter().find(|(other, _)| *other == word) {
        let known = |name: &&&str| allowed.iter().any(|allowed| allowed.as_ref() == **name);
        if let Some(name) = names.iter().find(known) {
            return Some((*name).to_owned());
        }
    }
    let letters = word.chars().count();
    let near = allowed.iter().map(AsRef::as_ref).filter_map(|candidate| {
        let plain_candidate = plain(candidate);
        let distance = strsim::osa_distance(&word, &plain_candidate);
        let begins = letters >= 3 && plain_candidate.starts_with(&word);
        let tolerated = letters.max(plain_candidate.chars().count()) / 3;
        match () {
            () if distance <= tolerated => Some((distance, candidate)),
            () if begins => Some((tolerated + 1, candidate)),
            () => None,
        }
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn typos_are_matched_and_unrelated_words_are_not() {
        let allowed = ["initial_ssthresh", "congestion", "cra", "rbdc", "vbdc", "rate"];
        for (word, meant) in [
            ("initial-ssthresh", Some("initial_ssthresh")),
            ("congestoin", Some("congestion")),
            ("cong", Some("congestion")),
            ("rbcd", Some("rbdc")),
            ("RATE", Some("rate")),
            ("crb", Some("cra")),
            ("cwnd", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, &allowed).as_deref(), meant, "{word}");
        }
    }

    #[test]
    fn synonyms_are_matched_and_distinct_terms_are_not() {
        assert_eq!(nearest("web", &["bulk", "http"]).as_deref(), Some("http"));
        assert_eq!(nearest("VoIP", &["calls", "http"]).as_deref(), Some("calls"));
        assert_eq!(nearest("web", &["bulk"]), None);
        assert_eq!(nearest("abr", &["cbr", "ubr", "vbr"]), None);
    }
}
