// SPDX-License-Identifier: GPL-2.0-only
//! The subjects of the gallery's pages, and the pages' names.

use std::collections::BTreeSet;

use stats::view::consensus::Question;

use super::super::escape::{anchor, text};
use super::collection::Gallery;

/// The kinds of subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Scheduler,
    Machine,
    Workload,
}

impl Subject {
    pub(super) const ALL: [Subject; 3] = [Subject::Scheduler, Subject::Machine, Subject::Workload];

    pub(super) fn word(self) -> &'static str {
        match self {
            Subject::Scheduler => "scheduler",
            Subject::Machine => "machine",
            Subject::Workload => "workload",
        }
    }

    /// The heading of its list.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Subject::Scheduler => "Schedulers",
            Subject::Machine => "Machines",
            Subject::Workload => "Workloads",
        }
    }

    /// The names that a question has of this kind.
    pub(super) fn names(self, question: &Question) -> BTreeSet<&str> {
        match self {
            Subject::Scheduler => [question.contestant.as_str()].into(),
            Subject::Workload => [question.workload.as_str()].into(),
            Subject::Machine => {
                question.answers.iter().map(|answer| answer.machine.as_str()).collect()
            }
        }
    }

    /// All names in the gallery.
    pub(super) fn all(self, gallery: &Gallery) -> BTreeSet<&str> {
        gallery.questions.iter().flat_map(|question| self.names(question)).collect()
    }

    /// The questions that are about a name.
    pub(super) fn about<'a>(self, gallery: &'a Gallery, name: &str) -> Vec<&'a Question> {
        gallery.questions.iter().filter(|question| self.names(question).contains(name)).collect()
    }

    /// The file of a name's page.
    pub(super) fn file(self, name: &str) -> String {
        format!("{}-{}.html", self.word(), anchor(name))
    }

    /// A name that links to its page.
    pub(super) fn link(self, name: &str) -> String {
        format!("<a href=\"{}\">{}</a>", self.file(name), text(name))
    }
}
