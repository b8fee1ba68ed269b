// SPDX-License-Identifier: GPL-2.0-only
//! What only `make test-all` runs: equal bytes need the emulator.

use super::*;

mod saved;

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
        assert_eq!(saved::take_notes(&mut three), 4);
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
