//! Splits a query into words and symbols with their positions.

use std::fmt;

/// Maximum number of words and symbols in a query. It limits the depth of expressions, which are
/// evaluated recursively.
const MAX_TOKENS: usize = 300;
/// The symbols of queries. Each symbol precedes its own prefixes.
const SYMBOLS: [&str; 17] =
    ["<>", "!=", "<=", ">=", "==", "=", "<", ">", "+", "-", "*", "/", "(", ")", ",", ".", ";"];

/// A name or another word, as written in the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub text: String,
    /// The quotation mark around the name: ", ` or '; `None` for a word without quotation marks.
    pub quote: Option<char>,
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quote {
            None => out.write_str(&self.text),
            Some(quote) => {
                let doubled = self.text.replace(quote, &format!("{quote}{quote}"));
                write!(out, "{quote}{doubled}{quote}")
            }
        }
    }
}

/// A word or symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A word, or a text in quotation marks.
    Name(Name),
    /// The digits of a number.
    Number(String),
    /// A symbol of queries, or any other character.
    Symbol(String),
    /// End of the text.
    End,
}

impl Token {
    /// Returns true if the token is this symbol.
    pub fn is(&self, symbol: &str) -> bool {
        matches!(self, Token::Symbol(known) if known == symbol)
    }

    /// Returns true if the token is this word without quotation marks, in upper or lower case.
    pub fn says(&self, word: &str) -> bool {
        matches!(self, Token::Name(Name { text, quote: None }) if text.eq_ignore_ascii_case(word))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Name(name) => name.fmt(out),
            Token::Number(text) | Token::Symbol(text) => out.write_str(text),
            Token::End => out.write_str("the end"),
        }
    }
}

/// Returns the tokens of a text, each with the position of its first byte. The last token is
/// `Token::End`. Comments are skipped: `-- ...` to the end of the line, and `/* ... */`, which may
/// be nested.
pub fn tokens(text: &str) -> Result<Vec<(usize, Token)>, String> {
    let mut found = Vec::new();
    let mut offset = 0;
    while let Some(first) = text[offset..].chars().next() {
        let rest = &text[offset..];
        let next = rest[first.len_utf8()..].chars().next();
        let unended =
            |what: &str| format!("{what} at {} has no end; allowed: one that ends", position(text, offset));
        let (token, bytes) = match first {
            _ if first.is_whitespace() => (None, first.len_utf8()),
            '-' if next == Some('-') => (None, rest.find('\n').unwrap_or(rest.len())),
            '/' if next == Some('*') => (None, comment(rest).ok_or_else(|| unended("the comment"))?),
            '"' | '`' | '\'' => {
                let (name, bytes) = quoted(rest, first).ok_or_else(|| unended("the text in quotes"))?;
                (Some(Token::Name(name)), bytes)
            }
            _ if first.is_ascii_digit()
                || (first == '.' && next.is_some_and(|next| next.is_ascii_digit())) =>
            {
                let bytes = digits(rest);
                (Some(Token::Number(rest[..bytes].to_owned())), bytes)
            }
            _ if first.is_alphabetic() || "_#@".contains(first) => {
                let part = |one: char| one.is_alphabetic() || one.is_ascii_digit() || "_#@$".contains(one);
                let bytes = rest.find(|one| !part(one)).unwrap_or(rest.len());
                (Some(Token::Name(Name { text: rest[..bytes].to_owned(), quote: None })), bytes)
            }
            _ => {
                let known = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
                let bytes = known.map_or(first.len_utf8(), str::len);
                (Some(Token::Symbol(rest[..bytes].to_owned())), bytes)
            }
        };
        found.extend(token.map(|token| (offset, token)));
        offset += bytes;
    }
    if found.len() > MAX_TOKENS {
        return Err(format!(
            "the query has {} words and symbols; allowed: at most {MAX_TOKENS}",
            found.len()
        ));
    }
    found.push((text.len(), Token::End));
    Ok(found)
}

/// Returns the length in bytes of the comment at the start of a text; `None` if the comment does
/// not end.
fn comment(text: &str) -> Option<usize> {
    let (mut depth, mut offset) = (0_usize, 0);
    loop {
        let rest = &text[offset..];
        let bytes = match rest.chars().next()? {
            '/' if rest.starts_with("/*") => {
                depth += 1;
                2
            }
            '*' if rest.starts_with("*/") => {
                depth -= 1;
                2
            }
            other => other.len_utf8(),
        };
        offset += bytes;
        if depth == 0 {
            return Some(offset);
        }
    }
}

/// Returns the quoted name at the start of a text, and its length in bytes; `None` if the name does
/// not end. A quotation mark inside a name is doubled.
fn quoted(text: &str, quote: char) -> Option<(Name, usize)> {
    let mut inner = String::new();
    let mut offset = 1;
    loop {
        let end = offset + text[offset..].find(quote)?;
        inner.push_str(&text[offset..end]);
        offset = end + 1;
        if !text[offset..].starts_with(quote) {
            return Some((Name { text: inner, quote: Some(quote) }, offset));
        }
        inner.push(quote);
        offset += 1;
    }
}

/// Returns the length in bytes of the number at the start of a text: digits with an optional
/// decimal point and an optional exponent.
fn digits(text: &str) -> usize {
    let run = |from: usize| from + text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = run(0);
    if text[end..].starts_with('.') {
        end = run(end + 1);
    }
    let exponent = match text.as_bytes().get(end) {
        Some(b'e' | b'E') => end + 1 + usize::from(text[end + 1..].starts_with(['+', '-'])),
        _ => return end,
    };
    let after = run(exponent);
    if after > exponent {
        after
    } else {
        end
    }
}

/// Returns the line and the column of a byte, counted from 1.
pub fn position(text: &str, byte: usize) -> String {
    let before = &text[..byte];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    format!("line {line}, column {column}")
}
