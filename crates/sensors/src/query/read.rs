//! Reads a statement by recursive descent, one function per line of the grammar:
//!
//! ```text
//! statement  = SELECT item {"," item} FROM stream {("," | join) stream} [WHERE condition] [GROUP BY condition {"," condition}] [HAVING condition]
//! item       = "*" | condition [[AS] name]
//! stream     = name [[AS] name] | "(" stream ")" [[AS] name]
//! join       = [INNER] JOIN stream ON condition
//! condition  = conjunction {OR conjunction}
//! conjunction = negation {AND negation}
//! negation   = NOT negation | comparison
//! comparison = sum {("=" | "<>" | "<" | "<=" | ">" | ">=") sum | [NOT] BETWEEN sum AND sum}
//! sum        = product {("+" | "-") product}
//! product    = signed {("*" | "/") signed}
//! signed     = ("+" | "-") signed | operand
//! operand    = "(" condition ")" | number | 'text' | INTERVAL value unit | name {"." name} | name "(" ["*" | condition {"," condition}] ")"
//! ```
//!
//! Words are case-insensitive. `==` stands for `=`, and `!=` for `<>`. SELECT may have no items,
//! and a comma may follow its last item.

use super::expression::Operator;
use super::statement::{joined, Item, Statement, Stream, Term};
use super::tokens::{position, tokens, Name, Token};

/// Maximum nesting depth of parentheses, arguments, signs and NOT.
const MAX_DEPTH: usize = 16;
/// The clauses of a query, for messages.
const ALLOWED: &str = "allowed: SELECT, FROM, JOIN, WHERE, GROUP BY and HAVING";
/// The elements of an expression, for messages.
const EXPRESSIONS: &str =
    "allowed: columns, numbers, arithmetic, comparisons, AND, OR, NOT, BETWEEN, functions";
/// Words that cannot be an alias without AS, because in SQL they begin a clause or continue an
/// expression.
const RESERVED: &str = "\
    ALL AND AS AT BETWEEN CLUSTER COLLATE DISTINCT DISTRIBUTE END EXCEPT EXISTS FETCH FILTER FOR FORMAT \
    FROM GROUP HAVING ILIKE IN INTERSECT INTERVAL INTO IS LATERAL LIKE LIMIT MINUS NOT OFFSET OR ORDER \
    OVER PARTITION PIVOT QUALIFY REGEXP RETURNING RLIKE SAMPLE SELECT SIMILAR SORT TABLESAMPLE TOP UNION \
    UNPIVOT VALUES WHERE WINDOW WITH XOR";
/// Words of joins, which cannot be an alias of a stream without AS.
const JOINS: &str = "\
    ANTI ASOF CROSS FULL GLOBAL INNER JOIN LEFT NATURAL ON OUTER RIGHT SEMI USING";
/// The units of intervals.
const UNITS: [&str; 5] = ["MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY"];

/// Reads a statement.
pub fn read(text: &str) -> Result<Statement, String> {
    let tokens = tokens(text)?;
    // Semicolons separate statements. Empty statements are ignored.
    let parts = tokens[..tokens.len() - 1].split(|(_, token)| token.is(";"));
    let count = parts.filter(|part| !part.is_empty()).count();
    let begin = tokens.iter().take_while(|(_, token)| token.is(";")).count();
    let mut reader = Reader { text, tokens, index: begin, depth: 0 };
    if count == 0 {
        return Err("0 statements; allowed: one query".to_owned());
    }
    let statement = reader.statement()?;
    match count {
        1 => Ok(statement),
        _ => Err(format!("{count} statements; allowed: one query")),
    }
}

struct Reader<'a> {
    text: &'a str,
    /// The tokens, each with the position of its first byte.
    tokens: Vec<(usize, Token)>,
    /// Index of the next token.
    index: usize,
    /// Nesting depth of the next token.
    depth: usize,
}

impl Reader<'_> {
    /// Returns the token that follows after a number of other tokens.
    fn ahead(&self, tokens: usize) -> &Token {
        &self.tokens[(self.index + tokens).min(self.tokens.len() - 1)].1
    }

    fn next(&self) -> &Token {
        self.ahead(0)
    }

    fn take(&mut self) -> Token {
        let token = self.next().clone();
        self.index = (self.index + 1).min(self.tokens.len() - 1);
        token
    }

    /// Reads the next token if it is this symbol. Returns true if it was.
    fn symbol(&mut self, symbol: &str) -> bool {
        let is = self.next().is(symbol);
        self.index += usize::from(is);
        is
    }

    /// Reads the next tokens if they are these words. Returns true if they were.
    fn words<const COUNT: usize>(&mut self, words: [&str; COUNT]) -> bool {
        let are = words.iter().enumerate().all(|(index, word)| self.ahead(index).says(word));
        self.index += if are { COUNT } else { 0 };
        are
    }

    /// Returns true if the next token is one of these words.
    fn among(&self, words: &str) -> bool {
        words.split(' ').any(|word| self.next().says(word))
    }

    /// Returns the position of the next token, as text.
    fn here(&self) -> String {
        position(self.text, self.tokens[self.index].0)
    }

    /// Returns the message for an unexpected token.
    fn expected(&self, expected: &str, allowed: &str) -> String {
        format!("expected {expected}, found {} at {}; {allowed}", self.next(), self.here())
    }

    /// Reads an element that is nested one level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("the query nests too deep at {}; allowed: {MAX_DEPTH} deep", self.here()));
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    /// Reads one or more elements separated by commas.
    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        let mut found = vec![read(self)?];
        while self.symbol(",") {
            found.push(read(self)?);
        }
        Ok(found)
    }

    fn statement(&mut self) -> Result<Statement, String> {
        if !self.words(["SELECT"]) {
            return Err(format!("this statement is not a query: {}", self.expected("SELECT", ALLOWED)));
        }
        let mut items = Vec::new();
        while !self.next().says("FROM") && !self.ended() {
            items.push(self.item()?);
            if !self.symbol(",") {
                break;
            }
        }
        if self.ended() {
            return Err("the query has no FROM; allowed: FROM motes, or the name of a mote".to_owned());
        }
        if !self.words(["FROM"]) {
            return Err(self.expected("an operator, a comma or FROM", EXPRESSIONS));
        }
        let streams = self.streams()?;
        let condition = if self.words(["WHERE"]) { Some(self.condition()?) } else { None };
        let groups = if self.words(["GROUP", "BY"]) { self.list(Self::condition)? } else { Vec::new() };
        let having = if self.words(["HAVING"]) { Some(self.condition()?) } else { None };
        if self.ended() {
            return Ok(Statement { items, streams, condition, groups, having });
        }
        if matches!(self.next(), Token::Symbol(_)) {
            return Err(self.expected("an operator or a clause", EXPRESSIONS));
        }
        let rest = &self.text[self.tokens[self.index].0..];
        let rest: Vec<&str> = rest.split_whitespace().take(4).collect();
        let (rest, here) = (rest.join(" "), self.here());
        Err(match self.among("UNION EXCEPT INTERSECT MINUS") {
            true => format!("this query combines others ({rest}, at {here}); {ALLOWED}"),
            false => format!("queries of streams do not have {rest}, at {here}; {ALLOWED}"),
        })
    }

    /// Returns true if the next token ends the statement.
    fn ended(&self) -> bool {
        matches!(self.next(), Token::End) || self.next().is(";")
    }

    fn item(&mut self) -> Result<Item, String> {
        if self.symbol("*") {
            return Ok(Item::All);
        }
        let term = self.condition()?;
        Ok(Item::Term(term, self.alias("")?))
    }

    fn streams(&mut self) -> Result<Vec<Stream>, String> {
        let mut streams = vec![self.stream()?];
        loop {
            if self.symbol(",") {
                streams.push(self.stream()?);
            } else if self.words(["JOIN"]) || self.words(["INNER", "JOIN"]) {
                let mut stream = self.stream()?;
                if !self.words(["ON"]) {
                    return Err(self.expected("ON behind JOIN", "allowed: a JOIN b ON condition"));
                }
                stream.on = Some(self.condition()?);
                streams.push(stream);
            } else if self.among(JOINS) {
                return Err(self.expected("a known kind of join", "allowed: a JOIN b ON condition"));
            } else {
                return Ok(streams);
            }
        }
    }

    fn stream(&mut self) -> Result<Stream, String> {
        match self.next().clone() {
            Token::Name(name) => {
                self.take();
                Ok(Stream { name, alias: self.alias(JOINS)?, on: None })
            }
            _ if self.symbol("(") => {
                let mut stream = self.nested(Self::stream)?;
                if !self.symbol(")") {
                    return Err(self.expected(")", "allowed: streams by name"));
                }
                if stream.alias.is_none() {
                    stream.alias = self.alias(JOINS)?;
                }
                Ok(stream)
            }
            _ => Err(self.expected("a stream", "allowed: motes, or the name of a mote")),
        }
    }

    /// Reads an alias, if there is one. Without AS, an alias must not be reserved or one of
    /// `others`.
    fn alias(&mut self, others: &str) -> Result<Option<Name>, String> {
        let given = self.words(["AS"]);
        match self.next().clone() {
            Token::Name(name) if given || !(self.among(RESERVED) || self.among(others)) => {
                self.take();
                Ok(Some(name))
            }
            _ if given => Err(self.expected("a name behind AS", ALLOWED)),
            _ => Ok(None),
        }
    }

    fn condition(&mut self) -> Result<Term, String> {
        self.chain(Self::conjunction, |reader| reader.words(["OR"]).then_some(Operator::Or))
    }

    fn conjunction(&mut self) -> Result<Term, String> {
        self.chain(Self::negation, |reader| reader.words(["AND"]).then_some(Operator::And))
    }

    fn negation(&mut self) -> Result<Term, String> {
        match self.words(["NOT"]) {
            true => Ok(Term::Not(Box::new(self.nested(Self::negation)?))),
            false => self.comparison(),
        }
    }

    fn comparison(&mut self) -> Result<Term, String> {
        let mut left = self.sum()?;
        loop {
            let negated = self.next().says("NOT") && self.ahead(1).says("BETWEEN");
            if negated || self.next().says("BETWEEN") {
                self.index += if negated { 2 } else { 1 };
                let low = self.sum()?;
                if !self.words(["AND"]) {
                    return Err(self.expected("AND behind BETWEEN", EXPRESSIONS));
                }
                let high = self.sum()?;
                left = Term::Between(Box::new(left), negated, Box::new(low), Box::new(high));
            } else if let Some(operator) = self.operator(&COMPARISONS) {
                left = Term::Binary(operator, Box::new(left), Box::new(self.sum()?));
            } else {
                return Ok(left);
            }
        }
    }

    fn sum(&mut self) -> Result<Term, String> {
        let operators = [("+", Operator::Add), ("-", Operator::Subtract)];
        self.chain(Self::product, |reader| reader.operator(&operators))
    }

    fn product(&mut self) -> Result<Term, String> {
        let operators = [("*", Operator::Multiply), ("/", Operator::Divide)];
        self.chain(Self::signed, |reader| reader.operator(&operators))
    }

    /// Reads a chain of operands and operators of equal precedence, which are left-associative.
    fn chain(
        &mut self,
        operand: impl Fn(&mut Self) -> Result<Term, String>,
        operator: impl Fn(&mut Self) -> Option<Operator>,
    ) -> Result<Term, String> {
        let mut left = operand(self)?;
        while let Some(operator) = operator(self) {
            left = Term::Binary(operator, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    /// Reads the next token if it is one of these operators.
    fn operator(&mut self, operators: &[(&str, Operator)]) -> Option<Operator> {
        operators.iter().find(|(symbol, _)| self.symbol(symbol)).map(|(_, operator)| *operator)
    }

    fn signed(&mut self) -> Result<Term, String> {
        for sign in ['+', '-'] {
            if self.symbol(sign.encode_utf8(&mut [0; 4])) {
                return Ok(Term::Signed(sign, Box::new(self.nested(Self::signed)?)));
            }
        }
        self.operand()
    }

    fn operand(&mut self) -> Result<Term, String> {
        if self.symbol("(") {
            let inner = self.nested(Self::condition)?;
            self.close()?;
            return Ok(Term::Nested(Box::new(inner)));
        }
        // A reserved word followed by a point is the name of a stream.
        let reserved = self.among(RESERVED) && !self.ahead(1).is(".");
        match self.next().clone() {
            Token::Number(digits) => {
                let end = self.tokens[self.index].0 + digits.len();
                self.take();
                // A letter directly after the last digit does not begin a name.
                let joined = matches!(self.next(), Token::Name(_)) && self.tokens[self.index].0 == end;
                match joined && !self.among(RESERVED) {
                    true => Err(self.expected("a blank or an operator behind the number", EXPRESSIONS)),
                    false => Ok(Term::Number(digits)),
                }
            }
            Token::Name(_) if reserved && self.words(["INTERVAL"]) => self.interval(),
            Token::Name(name) if !reserved => {
                self.take();
                if name.quote == Some('\'') {
                    Ok(Term::Text(name))
                } else {
                    self.named(name)
                }
            }
            _ => Err(self.expected("an expression", EXPRESSIONS)),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        match self.symbol(")") {
            true => Ok(()),
            false => Err(self.expected("an operator or )", EXPRESSIONS)),
        }
    }

    fn interval(&mut self) -> Result<Term, String> {
        let allowed = "allowed: INTERVAL '10' SECOND, MILLISECOND, MINUTE, HOUR or DAY";
        let value = match self.next().clone() {
            Token::Number(text) => Name { text, quote: None },
            Token::Name(text) if text.quote == Some('\'') => text,
            _ => return Err(self.expected("a number behind INTERVAL", allowed)),
        };
        self.take();
        let written = self.next().to_string().to_ascii_uppercase();
        if !UNITS.contains(&written.strip_suffix('S').unwrap_or(&written)) {
            return Err(self.expected("a unit of time", allowed));
        }
        self.take();
        Ok(Term::Interval(value, written))
    }

    /// Reads the rest of a column or function after its first name.
    fn named(&mut self, first: Name) -> Result<Term, String> {
        let mut names = vec![first];
        while self.symbol(".") {
            match self.take() {
                Token::Name(name) if name.quote != Some('\'') => names.push(name),
                other => {
                    let written = joined(&names, ".");
                    return Err(format!("{written}.{other} is not known; allowed: expressions, or *"));
                }
            }
        }
        if !self.symbol("(") {
            return Ok(Term::Name(names));
        }
        let name = joined(&names, ".");
        if self.symbol("*") {
            self.close()?;
            return Ok(Term::Call(name, None));
        }
        if self.symbol(")") {
            return Ok(Term::Call(name, Some(Vec::new())));
        }
        let arguments = self.nested(|reader| reader.list(Self::condition))?;
        self.close()?;
        Ok(Term::Call(name, Some(arguments)))
    }
}

const COMPARISONS: [(&str, Operator); 8] = [
    ("=", Operator::Equal),
    ("==", Operator::Equal),
    ("<>", Operator::NotEqual),
    ("!=", Operator::NotEqual),
    ("<", Operator::Less),
    ("<=", Operator::LessOrEqual),
    (">", Operator::Greater),
    (">=", Operator::GreaterOrEqual),
];
