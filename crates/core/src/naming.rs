//! Names of the members of a group, and patterns that match names.

use std::cmp::Ordering;

/// The placeholder for a member's number in the name of its group.
const NUMBER: &str = "{}";

/// Returns the names of `count` members of the group `name`. Members are numbered from 1. The
/// number replaces `{}` in the name, or is appended to a name without `{}`.
///
/// ```
/// use bentpipe_core::numbered;
/// assert_eq!(numbered("st", 3).collect::<Vec<_>>(), ["st1", "st2", "st3"]);
/// assert_eq!(numbered("lan-{}.host", 2).collect::<Vec<_>>(), ["lan-1.host", "lan-2.host"]);
/// ```
pub fn numbered(name: &str, count: u64) -> impl Iterator<Item = String> + '_ {
    (1..=count).map(move |number| with_number(name, number))
}

/// Returns the name of member `number` of the group `name`.
pub fn with_number(name: &str, number: u64) -> String {
    match name.contains(NUMBER) {
        true => name.replace(NUMBER, &number.to_string()),
        false => format!("{name}{number}"),
    }
}

/// Returns true if a name contains the placeholder for a member's number.
pub fn has_number(name: &str) -> bool {
    name.contains(NUMBER)
}

/// Returns true if a text is a pattern: `*` matches any characters, `?` one character.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Returns true if `pattern` matches `name`.
///
/// ```
/// use bentpipe_core::matches_pattern;
/// assert!(matches_pattern("st*", "st17") && matches_pattern("*-gw", "north-gw") && matches_pattern("st?", "st1"));
/// assert!(!matches_pattern("st?", "st17") && !matches_pattern("st", "st1") && matches_pattern("st1", "st1"));
/// ```
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut in_pattern, mut in_name) = (0, 0);
    // The position after the last `*` in the pattern, and the position in the name up to which that
    // `*` matches. A later mismatch extends the match by one character.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(in_pattern) {
            Some('*') => {
                star = Some((in_pattern, in_name));
                in_pattern += 1;
            }
            Some(wanted) if *wanted == '?' || *wanted == name[in_name] => {
                (in_pattern, in_name) = (in_pattern + 1, in_name + 1)
            }
            _ => match star {
                Some((star_at, end)) => {
                    star = Some((star_at, end + 1));
                    (in_pattern, in_name) = (star_at + 1, end + 1);
                }
                None => return false,
            },
        }
    }
    pattern[in_pattern..].iter().all(|character| *character == '*')
}

/// Compares two names in natural order: numbers within names are compared by value, so `st2` comes
/// before `st10`.
///
/// ```
/// let mut names = ["st10", "gw", "st2", "st1"];
/// names.sort_by(|a, b| bentpipe_core::natural_order(a, b));
/// assert_eq!(names, ["gw", "st1", "st2", "st10"]);
/// ```
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let (Some(first), Some(second)) = (left.chars().next(), right.chars().next()) else {
            return left.len().cmp(&right.len()).then_with(|| a.cmp(b));
        };
        let order = match first.is_ascii_digit() && second.is_ascii_digit() {
            true => {
                let (one, other) = (digits(&mut left), digits(&mut right));
                one.len().cmp(&other.len()).then_with(|| one.cmp(other))
            }
            false => {
                (left, right) = (&left[first.len_utf8()..], &right[second.len_utf8()..]);
                first.cmp(&second)
            }
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Removes the number at the beginning of a text and returns it without leading zeros.
fn digits<'a>(text: &mut &'a str) -> &'a str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    *text = rest;
    number.trim_start_matches('0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pattern_made_from_a_name_matches_the_name(name in "[a-c0-2]{0,8}", cut in 0usize..9, end in 0usize..9) {
            let (cut, end) = (cut.min(name.len()), end.min(name.len()));
            let (cut, end) = (cut.min(end), cut.max(end));
            let starred = format!("{}*{}", &name[..cut], &name[end..]);
            prop_assert!(matches_pattern(&starred, &name));
            let mark: String = name.chars().map(|_| '?').collect();
            let longer = format!("{name}x");
            prop_assert!(matches_pattern(&mark, &name) && !matches_pattern(&mark, &longer));
        }

        #[test]
        fn numbers_in_names_are_ordered_by_value(a in 0u32..2000, b in 0u32..2000) {
            prop_assert_eq!(natural_order(&format!("st{a}x"), &format!("st{b}x")), a.cmp(&b));
        }
    }

    #[test]
    fn names_that_differ_in_leading_zeros_are_not_equal() {
        assert_ne!(natural_order("st01", "st1"), Ordering::Equal);
    }
}
