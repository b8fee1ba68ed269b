// SPDX-License-Identifier: GPL-2.0-only
//! The comment at the top of a scheduler, which answers the same questions in every file.

/// The answers in a scheduler's top comment. All are empty for a file without such a comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// One sentence, from the first line (`name: …`).
    pub title: String,
    /// How the policy decides.
    pub idea: String,
    /// Workloads that the policy suits.
    pub good_at: String,
    /// Workloads that it does not suit.
    pub bad_at: String,
    /// Where the policy comes from.
    pub origin: String,
    /// Year, author and predecessors.
    pub lineage: Option<Lineage>,
    /// The run queue: structure, key, and what enqueueing and picking cost.
    pub queue: String,
    pub slice: String,
    /// Placement and preemption at a wake-up.
    pub wake_up: String,
    /// How tasks move between CPUs.
    pub balancing: String,
    /// Differences from its original.
    pub differs: String,
}

/// A scheduler's ancestry, from the header field `Family: 2007, Ingo Molnar; after o1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage {
    pub year: u16,
    pub author: String,
    /// The schedulers whose ideas or code it took up, the nearest first.
    pub after: Vec<String>,
}

impl Lineage {
    /// `None` for a text that does not begin with a year.
    fn parse(text: &str) -> Option<Lineage> {
        let (year, rest) = text.trim_end_matches('.').split_once(',')?;
        let (author, after) = rest.split_once("; after ").unwrap_or((rest, ""));
        let names = after.split(',').map(str::trim).filter(|name| !name.is_empty());
        Some(Lineage {
            year: year.trim().parse().ok()?,
            author: author.trim().to_owned(),
            after: names.map(str::to_owned).collect(),
        })
    }
}

const QUESTIONS: [&str; 10] = [
    "Idea",
    "Good at",
    "Bad at",
    "Origin",
    "Family",
    "Queue",
    "Slice",
    "Wake-up",
    "Balancing",
    "Differs",
];

impl Header {
    /// Reads the top comment of the scheduler `name`. Without an `Idea:` there is no header.
    pub fn parse(name: &str, text: &str) -> Header {
        let lines = top_comment(text);
        if !lines.iter().any(|line| question(line).is_some_and(|(asked, _)| asked == "Idea")) {
            return Header::default();
        }
        let title = lines.first().and_then(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let answer = |asked| answer(&lines, asked);
        Header {
            title: title.unwrap_or_default().trim().to_owned(),
            idea: answer("Idea"),
            good_at: answer("Good at"),
            bad_at: answer("Bad at"),
            origin: answer("Origin"),
            lineage: Lineage::parse(&answer("Family")),
            queue: answer("Queue"),
            slice: answer("Slice"),
            wake_up: answer("Wake-up"),
            balancing: answer("Balancing"),
            differs: answer("Differs"),
        }
    }
}

/// The lines of the first comment after the licence line, without the comment's own signs and
/// without empty lines.
fn top_comment(text: &str) -> Vec<String> {
    let is_comment = |line: &&str| ["//", "/*", "*"].iter().any(|sign| line.starts_with(sign));
    let lines = text.lines().map(str::trim).skip_while(|line| line.is_empty());
    lines
        .take_while(|line| line.is_empty() || is_comment(line))
        .map(|line| line.trim_start_matches(['/', '*']).trim_end_matches("*/").trim().to_owned())
        .filter(|line| !line.is_empty() && !line.starts_with("SPDX-License-Identifier"))
        .collect()
}

/// Splits `Good at: few tasks` into its question and the beginning of its answer.
fn question(line: &str) -> Option<(&'static str, &str)> {
    let (asked, answer) = line.split_once(':')?;
    let asked = QUESTIONS.into_iter().find(|question| *question == asked)?;
    Some((asked, answer.trim()))
}

/// The answer to a question, its lines joined.
fn answer(lines: &[String], asked: &str) -> String {
    let mut words = Vec::new();
    let mut inside = false;
    for line in lines {
        match question(line) {
            Some((found, begin)) => {
                inside = found == asked;
                words.extend(inside.then_some(begin));
            }
            None => words.extend(inside.then_some(line.as_str())),
        }
    }
    words.join(" ").trim().to_owned()
}

/// The number of the top comment's line that asks for flags, as comments could until they became a
/// member of the ops table.
pub(crate) fn line_of_flags(text: &str) -> Option<u32> {
    let asks = |line: &str| line.contains("Flags: ") && line.contains("SCX_OPS_");
    let is_comment = |line: &str| ["//", "/*", "*"].iter().any(|sign| line.starts_with(sign));
    let mut lines = text.lines().map(str::trim).zip(1..);
    let top = lines.by_ref().take_while(|(line, _)| line.is_empty() || is_comment(line));
    top.filter(|(line, _)| asks(line)).map(|(_, number)| number).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "// SPDX-License-Identifier: GPL-2.0-only\n\
        /*\n\
        \x20* toy: Plays.\n\
        \x20*\n\
        \x20* Idea: One queue\n\
        \x20*       for all.\n\
        \x20* Good at: toys.\n\
        \x20* Bad at: work.\n\
        \x20* Origin: here: and now.\n\
        \x20* Family: 2009, Ada, Grace and others; after tin, clay.\n\
        \x20* Queue: a box; enqueue O(1), pick O(n).\n\
        \x20* Slice: long.\n\
        \x20* Wake-up: alarm.\n\
        \x20* Balancing: on one leg.\n\
        \x20* Differs: no.\n\
        \x20*/\n\
        #include <scx/common.bpf.h>\n\
        /* Idea: not this one. */\n";

    #[test]
    fn every_question_is_answered() {
        let header = Header::parse("toy", FILE);
        assert_eq!(header.title, "Plays.");
        assert_eq!(header.idea, "One queue for all.");
        assert_eq!(header.good_at, "toys.");
        assert_eq!(header.bad_at, "work.");
        assert_eq!(header.origin, "here: and now.");
        assert_eq!(header.queue, "a box; enqueue O(1), pick O(n).");
        assert_eq!(header.slice, "long.");
        assert_eq!(header.wake_up, "alarm.");
        assert_eq!(header.balancing, "on one leg.");
        assert_eq!(header.differs, "no.");
    }

    #[test]
    fn a_family_has_a_year_an_author_and_perhaps_parents() {
        let lineage = |year, author: &str, after: &[&str]| {
            let after = after.iter().map(|&name| name.into()).collect();
            Some(Lineage { year, author: author.into(), after })
        };
        let header = Header::parse("toy", FILE);
        assert_eq!(header.lineage, lineage(2009, "Ada, Grace and others", &["tin", "clay"]));
        assert_eq!(Lineage::parse("1961, Fernando"), lineage(1961, "Fernando", &[]));
        assert_eq!(Lineage::parse("long ago, somebody"), None);
        assert_eq!(Lineage::parse(""), None);
    }

    #[test]
    fn line_comments_are_comments_too() {
        let header = Header::parse("toy", "// toy: Plays.\n//\n// Idea: none\nint x;\n");
        assert_eq!((header.title.as_str(), header.idea.as_str()), ("Plays.", "none"));
    }

    #[test]
    fn flags_in_the_comment_are_found_to_be_refused() {
        let asks =
            FILE.replace(" * Differs: no.\n", " * Differs: no.\n * Flags: SCX_OPS_ENQ_LAST\n");
        assert_eq!(line_of_flags(&asks), Some(16));
        assert_eq!(line_of_flags(FILE), None);
        assert_eq!(line_of_flags("int x;\n/* Flags: SCX_OPS_ENQ_LAST */\n"), None);
    }

    #[test]
    fn a_strangers_comment_is_no_header() {
        let file =
            "/* SPDX-License-Identifier: GPL-2.0 */\n/*\n * A simple scheduler.\n */\nint x;\n";
        assert_eq!(Header::parse("scx_simple", file), Header::default());
        assert_eq!(Header::parse("empty", ""), Header::default());
    }
}
