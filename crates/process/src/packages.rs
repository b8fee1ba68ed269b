// SPDX-License-Identifier: GPL-2.0-only
//! How this system's package manager gets what is missing. `scripts/setup.sh` reads the same table.

use std::fs;

const NAMES: &str = include_str!("../../../packaging/names.txt");

/// What gets these packages here; they have Debian's names.
pub fn install(packages: &str) -> String {
    let read = |path: &str| fs::read_to_string(path).ok();
    let system = read("/etc/os-release").or_else(|| read("/usr/lib/os-release"));
    // SAFETY: no arguments.
    let as_root = if unsafe { libc::geteuid() } == 0 { "" } else { "sudo " };
    install_on(&system.unwrap_or_default(), as_root, packages)
}

fn install_on(os_release: &str, as_root: &str, packages: &str) -> String {
    let rows = rows();
    let value = |key: &str| os_release.lines().find_map(|line| line.strip_prefix(key));
    let ids = [value("ID="), value("ID_LIKE=")].into_iter().flatten();
    let mut ids = ids.flat_map(|ids| ids.trim_matches(['"', '\'']).split_whitespace());
    let Some(column) = ids.find_map(|id| rows[0].iter().position(|known| *known == id)) else {
        return format!("this system's package manager (Debian's names): {packages}");
    };
    let (mut names, mut absent) = (Vec::new(), Vec::new());
    for package in packages.split_whitespace() {
        match rows.iter().find(|row| row[0] == package).map_or(package, |row| row[column]) {
            "-" => absent.push(package),
            name if names.contains(&name) => {}
            name => names.push(name),
        }
    }
    let absent = match absent.join(" ") {
        none if none.is_empty() => none,
        absent => format!("# no package for {absent}"),
    };
    if names.is_empty() {
        return absent;
    }
    format!("{as_root}{} {} {absent}", rows[1][column], names.join(" ")).trim_end().to_owned()
}

/// The first has the IDs of the distributions, the second their commands.
fn rows() -> Vec<Vec<&'static str>> {
    let cells = |row: &'static str| {
        row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
    };
    NAMES.lines().filter(|line| !line.starts_with('#')).map(cells).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distribution_reads_its_own_names() {
        let on = |os_release: &str| install_on(os_release, "", "clang-19 rt-app slurmctld slurmd");
        let debian = "apt install clang-19 rt-app slurmctld slurmd";
        let arch = "pacman -S clang # no package for rt-app slurmctld slurmd";
        let fedora = "dnf install clang slurm-slurmctld slurm-slurmd # no package for rt-app";
        let suse = "zypper install clang slurm slurm-node # no package for rt-app";
        for (os_release, expected) in [
            ("ID=debian\n", debian),
            ("NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", debian),
            ("ID=arch\n", arch),
            ("ID=cachyos\nID_LIKE=arch\n", arch),
            ("VERSION_ID=43\nID=fedora\n", fedora),
            ("ID='rhel'\nID_LIKE='fedora'\n", fedora),
            ("ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\n", suse),
        ] {
            assert_eq!(on(os_release), expected, "{os_release}");
        }
        let unknown =
            "this system's package manager (Debian's names): clang-19 rt-app slurmctld slurmd";
        assert_eq!((on(""), on("ID=nixos\n")), (unknown.to_owned(), unknown.to_owned()));
        assert_eq!(install_on("ID=arch", "sudo ", "mine mine"), "sudo pacman -S mine");
        assert_eq!(install_on("ID=arch", "", "rt-app"), "# no package for rt-app");
    }

    #[test]
    fn the_table_has_all_that_the_setup_and_the_workloads_need() {
        let rows = rows();
        assert!(rows.iter().all(|row| row.len() == 4) && rows[2..].is_sorted(), "{rows:?}");
        let setup = include_str!("../../../scripts/setup.sh").lines().map(str::trim);
        let calls = setup.filter(|line| line.starts_with("need ") || line.starts_with("need_h"));
        let packages = calls
            .filter(|line| !line.contains('{'))
            .filter_map(|line| line.split_whitespace().nth(2).map(str::to_owned));
        let mut named: Vec<String> = packages.collect();
        for path in crate::installed::matches("../../workloads/*.toml") {
            let text = fs::read_to_string(path).unwrap();
            let is_named = |line: &&str| line.starts_with("package") || line.starts_with("needs");
            let values = text.lines().filter(is_named).flat_map(|line| line.split("= \"").skip(1));
            named.extend(values.filter_map(|value| value.split('"').next().map(str::to_owned)));
        }
        assert!(named.len() > 80, "{named:?}");
        named.retain(|name| !rows.iter().any(|row| row[0] == name));
        assert!(named.is_empty(), "packaging/names.txt has no row for {named:?}");
    }
}
