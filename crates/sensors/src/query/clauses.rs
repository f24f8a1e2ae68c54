//! The clauses of a statement. Whatever a clause holds that queries of streams do not have is refused rather than ignored: what is left
//! of the statement once the known clauses are taken away must be an empty statement.

use super::Source;
use sqlparser::ast::{self, GroupByExpr, SetExpr, Statement, TableFactor};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};
use std::fmt::Display;
use std::mem;

/// The clauses that queries of streams have.
pub struct Clauses {
    pub projection: Vec<ast::SelectItem>,
    pub from: Vec<ast::TableWithJoins>,
    pub selection: Option<ast::Expr>,
    pub group_by: Vec<ast::Expr>,
    pub having: Option<ast::Expr>,
}

/// The deepest nesting of a query: the parser's stack frames are large in builds without optimisation.
const DEEPEST: usize = 16;
/// The most words and symbols of a query, for the same reason: a chain of operators nests, too.
const LONGEST: usize = 300;
/// What a query may consist of.
const ALLOWED: &str = "allowed: SELECT, FROM, JOIN, WHERE, GROUP BY and HAVING";

/// Reads a statement.
pub fn select(text: &str) -> Result<Clauses, String> {
    let (clauses, mut query) = divided(text)?;
    let (_, blank) = divided("SELECT 1 FROM motes")?;
    if query != blank {
        let SetExpr::Select(left) = &mut *query.body else {
            return Err(format!("the query has more; {ALLOWED}"));
        };
        left.projection = vec![ast::SelectItem::Wildcard(Default::default())];
        return Err(format!("the query has clauses that streams do not have ({query}); {ALLOWED}"));
    }
    if clauses.from.is_empty() {
        return Err("the query has no FROM; allowed: FROM motes, or the name of a mote".to_owned());
    }
    Ok(clauses)
}

/// A statement's clauses, and what is left of it.
fn divided(text: &str) -> Result<(Clauses, Box<ast::Query>), String> {
    let dialect = GenericDialect {};
    let wrong = |wrong: String| format!("{}; {ALLOWED}", wrong.trim_start_matches("sql parser error: "));
    let tokens = Tokenizer::new(&dialect, text).tokenize_with_location();
    let tokens = tokens.map_err(|said| wrong(said.to_string()))?;
    let count = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).count();
    if count > LONGEST {
        return Err(format!("the query has {count} words and symbols; allowed: at most {LONGEST}"));
    }
    let parsed = Parser::new(&dialect)
        .with_recursion_limit(DEEPEST)
        .with_tokens_with_locations(tokens)
        .parse_statements();
    let mut statements = parsed.map_err(|said| wrong(said.to_string()))?;
    let statement = match statements.len() {
        1 => statements.remove(0),
        count => return Err(format!("{count} statements; allowed: one query")),
    };
    let Statement::Query(mut query) = statement else {
        return Err(format!("this statement is not a query; {ALLOWED}"));
    };
    let SetExpr::Select(select) = &mut *query.body else {
        return Err(format!("this query combines others; {ALLOWED}"));
    };
    let none = GroupByExpr::Expressions(Vec::new(), Vec::new());
    let group_by = match mem::replace(&mut select.group_by, none) {
        GroupByExpr::Expressions(expressions, modifiers) if modifiers.is_empty() => expressions,
        other => return Err(format!("{other} is not known; allowed: GROUP BY with node and a window")),
    };
    let clauses = Clauses {
        projection: mem::take(&mut select.projection),
        from: mem::take(&mut select.from),
        selection: select.selection.take(),
        group_by,
        having: select.having.take(),
    };
    Ok((clauses, query))
}

/// Reads a stream of FROM.
pub fn source(relation: TableFactor, motes: &[String]) -> Result<Source, String> {
    let written = relation.to_string();
    let TableFactor::Table { name, alias, .. } = relation else { return Err(rest(written)) };
    let expected = match &alias {
        Some(alias) if alias.explicit => format!("{name} AS {}", alias.name),
        Some(alias) => format!("{name} {}", alias.name),
        None => name.to_string(),
    };
    let [part] = &name.0[..] else { return Err(rest(written)) };
    let Some(stream) = part.as_ident().filter(|_| written == expected) else { return Err(rest(written)) };
    let stream = &stream.value;
    let motes = match motes.iter().position(|mote| mote == stream) {
        Some(place) => vec![place as u16],
        None if stream.eq_ignore_ascii_case(ALL) => (0..motes.len() as u16).collect(),
        None => {
            return Err(format!("the stream {stream} is not known; allowed: {ALL}, {}", motes.join(", ")))
        }
    };
    Ok(Source { alias: alias.map_or_else(|| stream.clone(), |alias| alias.name.value), motes })
}

/// The stream of all motes.
pub const ALL: &str = "motes";

/// What is said of something that the parser knows and queries do not have.
pub fn rest(written: impl Display) -> String {
    format!("{written} is not known; allowed: streams by name, and functions with plain arguments")
}
