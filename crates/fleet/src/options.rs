// SPDX-License-Identifier: GPL-2.0-only
//! `--fleet slurm:KEY=VALUE,…`.

/// How a plan is spread over machines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetOptions {
    /// Whether files are sent to the nodes, because there is no shared file system.
    pub sends_files: bool,
    /// Trials of a chunk; `None`: by the measured time.
    pub chunk_trials: Option<u32>,
    /// Seconds that a chunk should take; `None`: by the length of the plan.
    pub chunk_s: Option<u32>,
    /// Features that every node must have, as for `sbatch --constraint`.
    pub constraint: Option<String>,
    /// Features that are kinds of nodes: on `live` each is a machine of its own.
    pub kinds: Vec<String>,
}

/// The only fleet.
const SLURM: &str = "slurm";

/// What can be written.
const KEYS: &str =
    "files=shared|sent, chunk=TRIALS, seconds=N, constraint=FEATURES, kinds=FEATURE+FEATURE…";

impl FleetOptions {
    /// Reads the option's value.
    ///
    /// # Errors
    /// What is wrong, and what to write instead.
    pub fn parse(text: &str) -> Result<FleetOptions, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        if name != SLURM {
            return Err(format!("there is no fleet '{name}'; write slurm, or slurm:KEY=VALUE,…"));
        }
        let mut options = FleetOptions::default();
        for pair in rest.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            options.set(key, value)?;
        }
        Ok(options)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        if value.is_empty() {
            return Err(format!("'{key}' lacks its value; there are {KEYS}"));
        }
        match key {
            "files" => self.sends_files = sends(value)?,
            "chunk" => self.chunk_trials = Some(number(key, value)?),
            "seconds" => self.chunk_s = Some(number(key, value)?),
            "constraint" => self.constraint = Some(value.into()),
            "kinds" => self.kinds = kinds(value)?,
            _ => return Err(format!("there is no '{key}'; there are {KEYS}")),
        }
        Ok(())
    }
}

fn sends(value: &str) -> Result<bool, String> {
    match value {
        "shared" => Ok(false),
        "sent" => Ok(true),
        _ => Err(format!("files={value}: write files=shared or files=sent")),
    }
}

fn kinds(value: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> = value.split('+').map(str::to_owned).collect();
    let is_plain = |name: &String| {
        let plain = |it: char| it.is_ascii_alphanumeric() || "_-.=:".contains(it);
        !name.is_empty() && name.chars().all(plain)
    };
    let twice = (1..names.len()).any(|index| names[..index].contains(&names[index]));
    match names.iter().all(is_plain) && !twice {
        true => Ok(names),
        false => Err(format!("kinds={value}: write features of nodes, each once: small+large")),
    }
}

fn number(key: &str, value: &str) -> Result<u32, String> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("{key}={value}: write a whole number above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let said = FleetOptions::parse("slurm:files=sent,chunk=50,constraint=epyc&ssd");
        let expected = FleetOptions {
            sends_files: true,
            chunk_trials: Some(50),
            chunk_s: None,
            constraint: Some("epyc&ssd".into()),
            kinds: Vec::new(),
        };
        assert_eq!(said, Ok(expected));
        let kinds = FleetOptions::parse("slurm:kinds=small+large").expect("options").kinds;
        assert_eq!(kinds, ["small", "large"]);
        assert_eq!(FleetOptions::parse("slurm"), Ok(FleetOptions::default()));
    }

    #[test]
    fn mistakes_say_what_to_write() {
        let said = |text| FleetOptions::parse(text).unwrap_err();
        assert_eq!(said("pbs"), "there is no fleet 'pbs'; write slurm, or slurm:KEY=VALUE,…");
        assert!(said("slurm:chunks=3").starts_with("there is no 'chunks'; there are files="));
        assert_eq!(said("slurm:files=nfs"), "files=nfs: write files=shared or files=sent");
        assert_eq!(said("slurm:chunk=0"), "chunk=0: write a whole number above 0");
        let words = ": write features of nodes, each once: small+large";
        for kinds in ["kinds=a+a", "kinds=a++b", "kinds=a&b"] {
            let said = FleetOptions::parse(&format!("slurm:{kinds}")).unwrap_err();
            assert_eq!(said, format!("{kinds}{words}"));
        }
        assert!(said("slurm:chunk").starts_with("'chunk' lacks its value"));
    }
}
