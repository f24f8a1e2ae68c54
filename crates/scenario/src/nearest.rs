//! Search for the word that was probably meant.

/// Common words for kinds, each with the names used here. The first allowed name is suggested.
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

/// Words of the field that look like typos but are not: ABR, the available bit rate of ATM.
const OTHER_WORDS: &[&str] = &["abr"];

/// Returns the word of `allowed` that is nearest to `word`, if `word` is close enough to be a typo
/// or a synonym of it.
///
/// Case, `-` and `_` are ignored. A prefix of at least three letters stands for the whole word.
/// Otherwise a third of the letters may differ (optimal string alignment distance, in which two
/// exchanged letters are one mistake).
pub(crate) fn nearest<W: AsRef<str>>(word: &str, allowed: &[W]) -> Option<String> {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
    };
    // Longer words are not typos, and computing the distance takes the product of the lengths.
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
    fn typos_find_their_word_and_other_words_find_nothing() {
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
    fn other_words_for_a_name_find_it_and_words_of_their_own_find_nothing() {
        assert_eq!(nearest("web", &["bulk", "http"]).as_deref(), Some("http"));
        assert_eq!(nearest("VoIP", &["calls", "http"]).as_deref(), Some("calls"));
        assert_eq!(nearest("web", &["bulk"]), None);
        assert_eq!(nearest("abr", &["cbr", "ubr", "vbr"]), None);
    }
}
