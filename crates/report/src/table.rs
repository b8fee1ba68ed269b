// SPDX-License-Identifier: GPL-2.0-only
//! Tables as values, written for a terminal, as Markdown and as HTML.

use maud::{Markup, Render, html};
use stats::Verdict;

use crate::html::markup::class;
use crate::markdown::clean;
use crate::terminal::layout::{Paint, fit, pad, pad_left};

/// On which side the fields of a column are aligned: numbers are on the right.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

pub(crate) struct Field {
    text: String,
    /// What a terminal colours it by.
    verdict: Option<Verdict>,
    /// Whether the text is Markdown already, and is not escaped.
    is_markdown: bool,
}

impl From<String> for Field {
    fn from(text: String) -> Field {
        Field { text, verdict: None, is_markdown: false }
    }
}

impl Field {
    pub fn judged(text: String, verdict: Verdict) -> Field {
        Field { verdict: Some(verdict), ..text.into() }
    }

    pub fn markdown(text: String) -> Field {
        Field { is_markdown: true, ..text.into() }
    }
}

pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<Field>>,
}

impl Table {
    /// A table of these columns, which has no rows yet.
    pub fn new(columns: &[(&str, Align)]) -> Table {
        let columns = columns.iter().map(|&(heading, align)| (heading.into(), align)).collect();
        Table { columns, rows: Vec::new() }
    }

    pub fn add<F: Into<Field>>(&mut self, fields: impl IntoIterator<Item = F>) {
        self.rows.push(fields.into_iter().map(Into::into).collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The same with headings and texts that are no longer than these widths.
    pub fn fitted(mut self, widths: &[usize]) -> Table {
        for (at, &width) in widths.iter().enumerate() {
            let heading = &mut self.columns[at].0;
            *heading = fit(heading, width);
            self.rows.iter_mut().for_each(|row| row[at].text = fit(&row[at].text, width));
        }
        self
    }

    /// The widest heading or text of each column.
    pub fn widths(&self) -> Vec<usize> {
        let texts = |at: usize| self.rows.iter().map(move |row| row[at].text.chars().count());
        let columns = self.columns.iter().enumerate();
        columns.map(|(at, (name, _))| texts(at).fold(name.chars().count(), usize::max)).collect()
    }

    pub fn markdown(&self) -> String {
        let line = |fields: &mut dyn Iterator<Item = String>| {
            let fields: String = fields
                .map(|text| if text.is_empty() { " |".into() } else { format!(" {text} |") })
                .collect();
            format!("|{fields}\n")
        };
        let rule = |align: &Align| if *align == Align::Left { "---|" } else { "---:|" };
        let rules: String = self.columns.iter().map(|(_, align)| rule(align)).collect();
        let text = |field: &Field| {
            if field.is_markdown { field.text.clone() } else { clean(&field.text) }
        };
        let headings = line(&mut self.columns.iter().map(|(heading, _)| clean(heading)));
        let rows = self.rows.iter().map(|row| line(&mut row.iter().map(text)));
        format!("{headings}|{rules}\n{}", rows.collect::<String>())
    }

    /// The line of headings, then one line for each row. Fields are at least as wide as `widths`
    /// say. Names must fit: see [`fit`](crate::terminal::layout::fit).
    pub fn terminal(&self, indent: &str, widths: &[usize], paint: Paint) -> Vec<String> {
        let padded = |at: usize, text: &str| match self.columns[at].1 {
            Align::Left => pad(text, widths[at]),
            Align::Right => pad_left(text, widths[at]),
        };
        let line = |fields: Vec<String>| {
            format!("{indent}{}", fields.join(" ")).trim_end().to_owned() + "\n"
        };
        let headings = self.columns.iter().enumerate().map(|(at, (text, _))| padded(at, text));
        let headings = paint.dim(line(headings.collect()).trim_end()) + "\n";
        let painted = |(at, field): (usize, &Field)| match field.verdict {
            Some(verdict) => paint.judged(verdict, &padded(at, &field.text)),
            None => padded(at, &field.text),
        };
        let row = |row: &Vec<Field>| line(row.iter().enumerate().map(painted).collect());
        std::iter::once(headings).chain(self.rows.iter().map(row)).collect()
    }
}

/// The first column names its row.
impl Render for Table {
    fn render(&self) -> Markup {
        let side = |at: usize| (self.columns[at].1 == Align::Right).then_some("n");
        html! {
            div class="scroll" {
                table class="data" {
                    thead {
                        tr {
                            @for (at, (heading, _)) in self.columns.iter().enumerate() {
                                th scope="col" class=[side(at)] { (heading) }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (at, Field { text, verdict, .. }) in row.iter().enumerate() {
                                    @if at == 0 {
                                        th scope="row" { (text) }
                                    } @else {
                                        td class=[side(at).or(verdict.map(class))] { (text) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
