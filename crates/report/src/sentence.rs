// SPDX-License-Identifier: GPL-2.0-only
//! Sentences whose names are marked, and how they are put together.

/// A sentence whose names are marked, so that each kind of report can set them apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence(pub Vec<Part>);

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Text(String),
    Name(String),
    /// A cell or a measure.
    Term(String),
    /// The number that matters.
    Strong(String),
}

impl Sentence {
    /// The sentence without marks.
    pub fn plain(&self) -> String {
        let text = |part: &Part| match part {
            Part::Text(text) | Part::Name(text) | Part::Term(text) | Part::Strong(text) => {
                text.clone()
            }
        };
        self.0.iter().map(text).collect()
    }

    pub(crate) fn text(mut self, text: impl Into<String>) -> Sentence {
        self.0.push(Part::Text(text.into()));
        self
    }

    pub(crate) fn name(mut self, name: &str) -> Sentence {
        self.0.push(Part::Name(name.into()));
        self
    }

    pub(crate) fn term(mut self, term: String) -> Sentence {
        self.0.push(Part::Term(term));
        self
    }

    pub(crate) fn strong(mut self, text: String) -> Sentence {
        self.0.push(Part::Strong(text));
        self
    }

    pub(crate) fn names<'a>(mut self, names: impl IntoIterator<Item = &'a String>) -> Sentence {
        for (index, name) in names.into_iter().enumerate() {
            self = if index > 0 { self.text(", ") } else { self }.name(name);
        }
        self
    }

    pub(crate) fn append(mut self, more: &Sentence) -> Sentence {
        self.0.extend(more.0.iter().cloned());
        self
    }
}
