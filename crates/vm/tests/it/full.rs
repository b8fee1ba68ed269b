// SPDX-License-Identifier: GPL-2.0-only
//! What only `make test-all` runs: equal bytes need the emulator; boots that go on from a saved
//! state, and what may go wrong with that.

use std::fs;

use sha2::{Digest, Sha256};

use super::*;

#[test]
fn virtual_boots_give_identical_records_whichever_way_they_come() {
    testing::beyond_cargo_test!("boots a kernel");
    let _turn = shared();
    for (name, cpus) in [("6.1", 1), ("6.12", 2), ("7", 1), ("7", 4)] {
        let kernel = need!(kernel(name));
        let emulator = need!(emulator());
        let machine = machine(Clock::Virtual, cpus);
        let trials = trials(&machine, &["busy", "large", "programs", "busy"]);
        let folder = tempfile::tempdir().unwrap();
        let run = |saved: Option<PathBuf>| {
            let emulator = Some(emulator);
            let request = request(&kernel, &machine, &trials);
            let mut request = BootRequest { saved, emulator, ..request };
            request.programs = ["seq", "sort", "sha256sum"].map(str::to_owned).to_vec();
            records(&request).unwrap()
        };
        let place = Some(folder.path().to_owned());
        // Nobody keeps the one, and the other is kept meanwhile.
        let (one, two) = thread::scope(|scope| {
            let other = scope.spawn(|| run(place.clone()));
            (run(None), other.join().unwrap())
        });
        let mut three = run(place.clone());
        assert_eq!(outcomes(&one), ["ok"; 4]);
        assert_same(&one, &two, &format!("kernel {name}: two fresh boots"));
        assert_eq!(take_notes(&mut three), 4);
        assert_same(&one, &three, &format!("kernel {name}: a fresh and a saved boot"));
        assert_eq!(one[0].provenance.boot_id, "virtual-3");
        // The comparison above is worth something only if there was work to compare.
        assert!(one[0].measured.value("completion_ns", "all").unwrap() > 1e6);
    }
}

#[test]
fn a_repeated_boot_gives_the_records_of_an_uninterrupted_one() {
    testing::beyond_cargo_test!("boots a kernel");
    let _turn = shared();
    let kernel = need!(kernel("7"));
    let emulator = need!(emulator());
    let machine = machine(Clock::Virtual, 1);
    let trials = trials(&machine, &["busy", "panic", "busy", "busy", "busy"]);
    let request =
        || BootRequest { emulator: Some(emulator), ..request(&kernel, &machine, &trials) };
    let whole = records(&request()).unwrap();
    assert_eq!(outcomes(&whole), ["ok", "crashed", "ok", "ok", "ok"]);
    // Killed during the last trial: the guest that began after the crash begins again.
    let why = whole[2].provenance.notes.last().cloned();
    let resume = Resume { first: 2, answered: 4, attempt: 1, note: why };
    let request = BootRequest { resume, ..request() };
    let mut heard = Vec::new();
    run_trials(&request, &AtomicBool::new(false), &mut |event| match event {
        Event::Record(index, record) => heard.push((false, index, *record)),
        Event::Repeated(index, record) => heard.push((true, index, *record)),
        _ => {}
    })
    .unwrap();
    let order: Vec<_> = heard.iter().map(|(again, index, _)| (*again, *index)).collect();
    assert_eq!(order, [(true, 2), (true, 3), (false, 4)]);
    for (_, index, record) in heard {
        let [again, before] = [&record.measured, &whole[index].measured].map(|m| format!("{m:?}"));
        assert_eq!(again, before, "trial {index}");
        assert_eq!(record.provenance.boot_id, "virtual-3.1");
        assert_eq!(record.provenance.boot_position, index as u32 - 2);
        assert_eq!(record.provenance.kernel_facts["guest_image"].len(), 64);
    }
}

/// Removes the notes that say that a boot went on from a saved one, and counts them.
fn take_notes(records: &mut [Record]) -> usize {
    let mut count = 0;
    for record in records {
        let notes = &mut record.provenance.notes;
        let before = notes.len();
        notes.retain(|note| note != vm::SAVED_BOOT);
        count += before - notes.len();
    }
    count
}

/// The records, and how many of them come from boots that went on from a kept state.
fn run(
    kernel: &Kernel,
    emulator: Option<&Emulator>,
    folder: &Path,
    names: &[&str],
) -> (Vec<Record>, usize) {
    let machine = machine(Clock::Virtual, 1);
    let trials = trials(&machine, names);
    let saved = Some(folder.to_owned());
    let request = request(kernel, &machine, &trials);
    let mut records = records(&BootRequest { saved, emulator, ..request }).unwrap();
    let notes = take_notes(&mut records);
    (records, notes)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.file_name().unwrap().len() == 64).collect()
}

#[test]
fn a_state_is_made_once_and_made_again_when_it_is_damaged() {
    testing::beyond_cargo_test!("boots a kernel");
    let _turn = shared();
    let kernel = need!(kernel("7"));
    let emulator = need!(emulator());
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Two at once: one makes it, the other one waits and goes on from it.
    let run = |names: &[&str]| run(&kernel, Some(emulator), folder, names);
    let names = ["busy", "busy"];
    let (one, two) = thread::scope(|scope| {
        let other = scope.spawn(|| run(&names));
        (run(&names), other.join().unwrap())
    });
    assert_eq!(one.1 + two.1, 2, "one of two boots went on from the other one's state");
    assert_same(&one.0, &two.0, "the boot that made it and the other one");
    let [state] = &files(folder)[..] else { panic!("{:?}", files(folder)) };
    assert_eq!(vm::saved_boots::space(folder), (1, fs::metadata(state).unwrap().len()));

    // Other orders; the guest after a crash goes on from the same state.
    let (crashed, notes) = run(&["panic", "busy"]);
    assert_eq!((outcomes(&crashed), notes), (vec!["crashed", "ok"], 2));

    let whole = fs::read(state).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    fs::write(state, flipped).unwrap();
    let (again, notes) = run(&names);
    assert_eq!(notes, 0);
    assert_same(&again, &one.0, "the boots before and after the damage");
    assert_eq!(run(&names).1, 2);
}

/// On the installed QEMU, which one CPU has where there is no emulator.
#[test]
fn a_state_that_qemu_refuses_or_cannot_be_kept_costs_only_time() {
    testing::beyond_cargo_test!("boots a kernel");
    let _turn = shared();
    let kernel = need!(kernel("6.12"));
    let folder = tempfile::tempdir().unwrap();
    let kept_in = |folder: &Path| {
        let (records, notes) = run(&kernel, None, folder, &["busy"]);
        assert_eq!(outcomes(&records), ["ok"]);
        notes
    };
    assert_eq!(kept_in(folder.path()), 0);
    let [state] = &files(folder.path())[..] else { panic!("{:?}", files(folder.path())) };
    assert_eq!(kept_in(folder.path()), 1);
    // Whole by its sum, and no state of this machine.
    let nonsense = b"not what QEMU writes";
    let sum = Sha256::digest(nonsense);
    fs::write(state, [&b"fairground boot1"[..], &sum[..], &nonsense[..]].concat()).unwrap();
    assert_eq!(kept_in(folder.path()), 0);
    // A file where the folder would be.
    assert_eq!(kept_in(&folder.path().join(state)), 0);
}
