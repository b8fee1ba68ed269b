// SPDX-License-Identifier: GPL-2.0-only
//! A static site from many people's results: who shared what, and for each question that several
//! have answered, whether they agree. One page for each scheduler, machine and load.
//!
//! Every page is whole without scripts and without a network. Everything in it comes from
//! strangers' files, and passes through [`escape`](super::escape).

mod answer_card;
mod index_page;
mod subject_page;

use std::collections::BTreeSet;

use stats::view::consensus::{Consent, Question};

use super::escape::{anchor, text};
use super::head;

const STYLE: &str = concat!(
    include_str!("../../assets/page.css"),
    include_str!("../../assets/tables.css"),
    include_str!("../../assets/gallery.css"),
);

/// One shared file.
#[derive(Clone, Debug, Default)]
pub struct Contribution {
    /// Its name in the folder.
    pub file: String,
    /// Who shares it, as they say.
    pub by: String,
    /// What they say about it.
    pub note: String,
    /// The SHA-256 that seals it.
    pub seal: String,
    /// The experiments, with the questions that they ask.
    pub experiments: Vec<(String, String)>,
    /// When they ran, e.g. `2026-01-31`, ascending.
    pub dates: Vec<String>,
    /// How many trials.
    pub trials: usize,
    /// Kernels under test.
    pub kernels: Vec<String>,
    /// Processors, as the kernels under test saw them.
    pub processors: Vec<String>,
    /// Schedulers with the beginning of their source's SHA-256.
    pub schedulers: Vec<(String, String)>,
    /// What was left out, as the file says.
    pub left_out: Vec<String>,
}

/// A file that is not shown, and why.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Its name in the folder.
    pub file: String,
    /// The reason.
    pub why: String,
}

/// Everything that the site shows.
#[derive(Clone, Debug, Default)]
pub struct Gallery {
    /// The files, in the order of their names.
    pub contributions: Vec<Contribution>,
    /// Those that could not be taken.
    pub refused: Vec<Refused>,
    /// What they answer.
    pub questions: Vec<Question>,
    /// When and by what the site was made; the caller's words, as reports have no clock.
    pub generated: String,
}

/// A file of the site.
pub struct Page {
    /// Its name.
    pub file: String,
    /// Its content.
    pub html: String,
}

/// What pages are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scheduler,
    Machine,
    Workload,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Scheduler, Kind::Machine, Kind::Workload];

    fn word(self) -> &'static str {
        match self {
            Kind::Scheduler => "scheduler",
            Kind::Machine => "machine",
            Kind::Workload => "load",
        }
    }

    /// The heading of its list.
    fn heading(self) -> &'static str {
        match self {
            Kind::Scheduler => "Schedulers",
            Kind::Machine => "Machines",
            Kind::Workload => "Loads",
        }
    }

    /// The names that a question has of this kind.
    fn names(self, question: &Question) -> BTreeSet<&str> {
        match self {
            Kind::Scheduler => [question.contestant.as_str()].into(),
            Kind::Workload => [question.workload.as_str()].into(),
            Kind::Machine => question.answers.iter().map(|one| one.machine.as_str()).collect(),
        }
    }

    /// All names in the gallery.
    fn all(self, gallery: &Gallery) -> BTreeSet<&str> {
        gallery.questions.iter().flat_map(|question| self.names(question)).collect()
    }

    /// The questions that are about a name.
    fn about<'a>(self, gallery: &'a Gallery, name: &str) -> Vec<&'a Question> {
        gallery.questions.iter().filter(|one| self.names(one).contains(name)).collect()
    }

    /// The file of a name's page.
    fn file(self, name: &str) -> String {
        format!("{}-{}.html", self.word(), anchor(name))
    }

    /// A name that leads to its page.
    fn link(self, name: &str) -> String {
        format!("<a href=\"{}\">{}</a>", self.file(name), text(name))
    }
}

/// All pages, `index.html` first.
pub fn pages(gallery: &Gallery) -> Vec<Page> {
    let mut pages = vec![Page { file: "index.html".into(), html: index_page::page(gallery) }];
    for kind in Kind::ALL {
        for name in kind.all(gallery) {
            let html = subject_page::page(gallery, kind, name);
            pages.push(Page { file: kind.file(name), html });
        }
    }
    pages
}

/// How many questions there are of each consent, among those that several were asked.
#[derive(Clone, Copy, Default)]
struct Counts {
    asked: usize,
    agree: usize,
    partly: usize,
    disagree: usize,
    open: usize,
}

impl Counts {
    fn of<'a>(questions: impl IntoIterator<Item = &'a Question>) -> Counts {
        let mut counts = Counts::default();
        for question in questions.into_iter().filter(|one| one.contributors().len() > 1) {
            counts.asked += 1;
            match question.consent() {
                Consent::Agree => counts.agree += 1,
                Consent::Partly => counts.partly += 1,
                Consent::Disagree => counts.disagree += 1,
                Consent::Open => counts.open += 1,
            }
        }
        counts
    }

    /// The counts as fields of a table's line.
    fn fields(self) -> String {
        let field = |class: &str, count: usize| match count {
            0 => "<td class=\"n none\">–</td>".to_owned(),
            _ => format!("<td class=\"n\"><span class=\"badge {class}\">{count}</span></td>"),
        };
        field("c-agree", self.agree)
            + &field("c-partly", self.partly)
            + &field("c-disagree", self.disagree)
            + &field("c-open", self.open)
    }
}

/// The heads of [`Counts::fields`].
const COUNTED: &str = "<th scope=\"col\" class=\"n\">agree</th><th scope=\"col\" \
                       class=\"n\">partly</th><th scope=\"col\" class=\"n\">disagree</th><th \
                       scope=\"col\" class=\"n\">open</th>";

fn badge(consent: Consent) -> String {
    let class = match consent {
        Consent::Agree => "c-agree",
        Consent::Partly => "c-partly",
        Consent::Disagree => "c-disagree",
        Consent::Open => "c-open",
    };
    format!("<span class=\"badge {class}\">{}</span>", consent.words())
}

/// The frame of a page; `links` lead to its sections.
struct Frame<'a> {
    kicker: &'a str,
    title: &'a str,
    question: &'a str,
    facts: Vec<(usize, &'a str)>,
    links: Vec<(String, &'a str)>,
}

impl Frame<'_> {
    fn around(&self, body: &str, gallery: &Gallery) -> String {
        let fact = |(count, what): &(usize, &str)| format!("<span><b>{count}</b> {what}</span>");
        let link = |(to, name): &(String, &str)| format!("<a href=\"{to}\">{name}</a>");
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n{}</head>\n<body>\n\
             <a class=\"skip\" href=\"#first\">Skip to the content</a>\n\
             <header class=\"masthead\"><div class=\"inner\"><p class=\"kicker\">{}</p>\
             <h1>{}</h1><p class=\"question\">{}</p><p class=\"facts\">{}</p></div></header>\n\
             <nav class=\"contents\" aria-label=\"Contents\"><div class=\"inner\">{}</div></nav>\n\
             <main id=\"first\">\n{body}</main>\n\
             <footer><p>{}</p><p>Made with Fairground (GPL-2.0) from files that others have \
             shared. A seal shows that a file is as it was made, not who made it. This page \
             fetches nothing and sends nothing.</p></footer>\n</body>\n</html>\n",
            head(self.title, STYLE),
            self.kicker,
            text(self.title),
            text(self.question),
            self.facts.iter().map(fact).collect::<String>(),
            self.links.iter().map(link).collect::<String>(),
            text(&gallery.generated)
        )
    }
}
