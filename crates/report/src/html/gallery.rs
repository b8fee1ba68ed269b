// SPDX-License-Identifier: GPL-2.0-only
//! A static site of shared results: the contributions, and for each question with several answers
//! whether they agree. One page for each scheduler, machine and workload.
//! Every page is complete without scripts and network. All of its content comes from untrusted
//! files, and passes through [`escape`](super::escape).

mod answer_card;
mod collection;
mod consent_counts;
mod gallery_frame;
mod index_page;
mod page_subject;
mod subject_page;

pub use collection::{Contribution, Gallery, Refused};
use page_subject::Subject;

/// A file of the site.
pub struct GalleryPage {
    /// Its name.
    pub file: String,
    /// Its content.
    pub html: String,
}

/// All pages, `index.html` first.
pub fn pages(gallery: &Gallery) -> Vec<GalleryPage> {
    let mut pages =
        vec![GalleryPage { file: "index.html".into(), html: index_page::page(gallery) }];
    for subject in Subject::ALL {
        for name in subject.all(gallery) {
            let html = subject_page::page(gallery, subject, name);
            pages.push(GalleryPage { file: subject.file(name), html });
        }
    }
    pages
}
