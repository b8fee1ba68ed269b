// SPDX-License-Identifier: GPL-2.0-only
//! The Debian mirror that this machine uses, its keys, and the tools that read it. The project
//! itself names no host.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

use crate::kernels::build::Interrupted;

/// The suites with the kernels that [`super::pull`] knows, oldest first.
pub(super) const SUITES: &[&str] = &["bookworm", "trixie", "trixie-backports", "sid"];

/// What apt downloads single files with.
const HELPER: &str = "/usr/lib/apt/apt-helper";

/// Runs a command and returns its output. The error holds the last lines of its error output, or
/// is [`Interrupted`].
pub fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = process::stop::output(command).map_err(|error| match error.kind() {
        ErrorKind::Interrupted => Interrupted.into(),
        _ => anyhow!(
            "`{name}` cannot be run ({error}): pulling needs Debian's apt, `kernel use` does not"
        ),
    })?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().collect();
        bail!("{name} failed: {}", lines[lines.len().saturating_sub(6)..].join("; "));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The archive that the machine itself installs from.
#[derive(Debug, PartialEq, Eq)]
pub struct Mirror {
    uri: String,
    /// The file that names it: `…/debian.sources` or `…/sources.list`.
    sources: PathBuf,
}

impl Mirror {
    /// Reads the machine's apt sources, through apt itself.
    pub fn of_this_machine() -> Result<Mirror> {
        let format = "$(REPO_URI)|$(ORIGIN)|$(LABEL)|$(RELEASE)|$(COMPONENT)|$(SOURCESENTRY)";
        let targets = run(Command::new("apt-get").env("LC_ALL", "C").args([
            "indextargets",
            "--format",
            format,
            "Created-By: Packages",
        ]))?;
        Mirror::choose(&targets).context(
            "this machine's apt sources name no archive of Debian itself to get kernels from",
        )
    }

    /// Asks for one small file of the archive, by apt's own means and settings.
    pub fn answers(&self) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = format!("{}/dists/{}/Release", self.uri.trim_end_matches('/'), SUITES[1]);
        let mut helper = Command::new(HELPER);
        for option in ["Acquire::Retries=0", "Acquire::http::Timeout=10", "APT::Sandbox::User=root"]
        {
            helper.args(["-o", option]);
        }
        helper.arg("download-file");
        run(helper.env("LC_ALL", "C").arg(file).arg(folder.path().join("Release")))?;
        Ok(())
    }

    /// The main archive: by its label, or, before the first `apt-get update`, by its suite's name.
    fn choose(targets: &str) -> Option<Mirror> {
        let rows: Vec<Vec<&str>> = targets.lines().map(|line| line.split('|').collect()).collect();
        let main = rows.iter().filter(|row| row.len() == 6 && row[4] == "main");
        let (labelled, unlabelled): (Vec<_>, Vec<_>) =
            main.partition(|row| !row[1].is_empty() && !row[1].starts_with('$'));
        let labelled = labelled.into_iter().find(|row| row[1] == "Debian" && row[2] == "Debian");
        let suites = ["bookworm", "trixie", "forky", "sid", "stable", "testing", "unstable"];
        let named = || unlabelled.into_iter().find(|row| suites.contains(&row[3]));
        let row = labelled.or_else(named)?;
        let file = row[5].rsplit_once(':').map_or(row[5], |(file, _)| file);
        Some(Mirror { uri: row[0].to_owned(), sources: file.into() })
    }

    /// The private list of sources: these suites of this mirror, checked with the same keys.
    pub fn sources(&self, folder: &Path, suites: &[&str], index: Index) -> Result<String> {
        let text = fs::read_to_string(&self.sources)
            .with_context(|| format!("reading {}", self.sources.display()))?;
        let signed_by = match signed_by(&text, &self.uri) {
            Some(Keys::Files(files)) => format!(" signed-by={files}"),
            Some(Keys::Text(key)) => {
                let file = folder.join("archive-key.asc");
                fs::write(&file, key)?;
                format!(" signed-by={}", file.display())
            }
            None => String::new(),
        };
        let line =
            |words: &str, suite: &str| format!("{words}{signed_by}] {} {suite} main\n", self.uri);
        let lines = suites.iter().map(|suite| match index {
            Index::Packages => line(PACKAGES, suite),
            Index::PackagesAndSources => line(PACKAGES, suite) + &line(SOURCES, suite),
        });
        Ok(lines.collect())
    }
}

/// What of a suite is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    Packages,
    /// The sources that they were built from too.
    PackagesAndSources,
}

const PACKAGES: &str = "deb [arch=amd64 target=Packages";
const SOURCES: &str = "deb-src [target=Sources";

/// The keys that a sources file demands for an archive.
#[derive(Debug, PartialEq, Eq)]
enum Keys {
    /// Paths of keyrings, separated by commas.
    Files(String),
    /// A key written into the sources file itself.
    Text(String),
}

fn signed_by(sources: &str, uri: &str) -> Option<Keys> {
    let wanted = uri.trim_end_matches('/');
    let names_it =
        |text: &str| text.split_whitespace().any(|word| word.trim_end_matches('/') == wanted);
    for stanza in sources.replace("\r\n", "\n").split("\n\n") {
        if field(stanza, "URIs").is_some_and(|uris| names_it(&uris)) {
            return field(stanza, "Signed-By").and_then(|value| keys(&value));
        }
        let mut lines = stanza.lines();
        if let Some(line) = lines.find(|line| line.starts_with("deb") && names_it(line)) {
            let options = line.split_once('[')?.1.split_once(']')?.0;
            let files = options.split_whitespace().find_map(|o| o.strip_prefix("signed-by="));
            return files.and_then(keys);
        }
    }
    None
}

fn keys(value: &str) -> Option<Keys> {
    if value.contains("BEGIN PGP") {
        // In a deb822 field an empty line is written as a single dot.
        let lines =
            value.trim().lines().map(|line| if line.trim() == "." { "" } else { line.trim() });
        return Some(Keys::Text(lines.map(|line| format!("{line}\n")).collect()));
    }
    let files = value.split([' ', ',', '\n']).filter(|file| file.starts_with('/'));
    let files = files.collect::<Vec<_>>().join(",");
    (!files.is_empty()).then_some(Keys::Files(files))
}

/// A deb822 field with its continuation lines.
fn field(stanza: &str, name: &str) -> Option<String> {
    let mut lines = stanza.lines().filter(|line| !line.starts_with('#'));
    let first = lines.find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then_some(value.trim())
    })?;
    let rest = lines.take_while(|line| line.starts_with([' ', '\t']));
    let all: Vec<&str> = std::iter::once(first).chain(rest.map(str::trim)).collect();
    Some(all.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_debians_own_archive() {
        let targets = "http://a/third/|Third||x|main|/etc/apt/sources.list.d/third.list:1\n\
                       http://m/security/|Debian|Debian-Security|bookworm-security|main|/etc/d:2\n\
                       http://m/debian/|Debian|Debian|bookworm|main|/etc/apt/d.sources:1\n";
        let mirror = Mirror::choose(targets).unwrap();
        assert_eq!(mirror.uri, "http://m/debian/");
        assert_eq!(mirror.sources, Path::new("/etc/apt/d.sources"));
        let fresh = "http://m/debian/|$(ORIGIN)|$(LABEL)|trixie|main|/etc/apt/sources.list:3\n";
        assert_eq!(Mirror::choose(fresh).unwrap().uri, "http://m/debian/");
        let other = "http://m/ubuntu/|Ubuntu|Ubuntu|noble|main|/etc/apt/u.sources:1\n";
        assert_eq!(Mirror::choose(other), None);
    }

    #[test]
    fn keys_are_read_from_both_forms_of_sources() {
        let deb822 = "Types: deb\n# old\nURIs: http://m/debian\nSuites: a b\n\
                      Signed-By: /k/a.gpg\n\nTypes: deb\nURIs: http://s/\n\
                      Signed-By:\n -----BEGIN PGP PUBLIC KEY-----\n .\n abc\n";
        let files = |text: &str| Some(Keys::Files(text.into()));
        assert_eq!(signed_by(deb822, "http://m/debian/"), files("/k/a.gpg"));
        let text = Keys::Text("-----BEGIN PGP PUBLIC KEY-----\n\nabc\n".into());
        assert_eq!(signed_by(deb822, "http://s/"), Some(text));
        let lines = "deb [arch=amd64 signed-by=/k/b.gpg] http://m/debian bookworm main\n";
        assert_eq!(signed_by(lines, "http://m/debian/"), files("/k/b.gpg"));
        assert_eq!(signed_by("deb http://m/debian bookworm main\n", "http://m/debian/"), None);
    }
}
