//! The nodes of a scenario, and their connected components.

use super::Scenario;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The nodes with their connected components. Every link and network works in both directions, so
/// connected nodes can reach each other.
pub(crate) struct Islands<'a> {
    pub(crate) names: BTreeMap<Cow<'a, str>, usize>,
    parent: Vec<usize>,
    /// Number of nodes in the tree of each root.
    size: Vec<usize>,
}

impl<'a> Islands<'a> {
    pub(crate) fn of(scenario: &'a Scenario) -> Islands<'a> {
        let mut islands = Islands { names: BTreeMap::new(), parent: Vec::new(), size: Vec::new() };
        for link in &scenario.link {
            islands.join(link.from.as_str(), link.to.as_str());
        }
        for network in scenario.network.values() {
            let mut nodes = network.nodes().into_iter();
            let Some(first) = nodes.next() else { continue };
            islands.index(first.clone().into());
            nodes.for_each(|node| islands.join(first.clone(), node));
        }
        islands
    }

    pub(crate) fn into_names(self) -> Vec<String> {
        self.names.into_keys().map(Cow::into_owned).collect()
    }

    fn index(&mut self, name: Cow<'a, str>) -> usize {
        let next = self.parent.len();
        let index = *self.names.entry(name).or_insert(next);
        if index == next {
            self.parent.push(next);
            self.size.push(1);
        }
        index
    }

    fn root(&self, mut index: usize) -> usize {
        while self.parent[index] != index {
            index = self.parent[index];
        }
        index
    }

    fn join(&mut self, a: impl Into<Cow<'a, str>>, b: impl Into<Cow<'a, str>>) {
        let (a, b) = (self.index(a.into()), self.index(b.into()));
        let (a, b) = (self.root(a), self.root(b));
        // The smaller tree is attached to the larger one, which limits the depth to the logarithm
        // of the size.
        let (small, large) = if self.size[a] < self.size[b] { (a, b) } else { (b, a) };
        if small != large {
            self.parent[small] = large;
            self.size[large] += self.size[small];
        }
    }

    pub(crate) fn apart(&self, a: &str, b: &str) -> bool {
        match (self.names.get(a), self.names.get(b)) {
            (Some(&a), Some(&b)) => self.root(a) != self.root(b),
            _ => false,
        }
    }

    pub(crate) fn unknown(&self, name: &str) -> String {
        let names: Vec<_> = self.names.keys().map(|name| name.as_ref()).collect();
        let shown = if names.len() > 12 {
            format!("{}, ... ({} nodes)", names[..12].join(", "), names.len())
        } else {
            names.join(", ")
        };
        format!("\"{name}\" is not a node of any link or network; allowed: {shown}")
    }
}
