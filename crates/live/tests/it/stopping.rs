// SPDX-License-Identifier: GPL-2.0-only
//! What is counted ends with the window: see [`Probes::stop`].

use live::probes::Probes;
use testing::need;

#[test]
fn nothing_is_counted_after_the_stop() {
    testing::beyond_cargo_test!("needs a right to use BPF");
    let probes = need!(Probes::attach(&["own".into()], false));
    // SAFETY: no arguments.
    let own = unsafe { libc::gettid() as u32 };
    probes.track(own, 0).expect("a slot");
    probes.start();
    let busy: u64 = std::hint::black_box((0..1_000_000_u64).map(std::hint::black_box).sum());
    let window = probes.stop();
    assert!(busy > 0);
    let first = probes.readings(window);
    std::thread::sleep(std::time::Duration::from_millis(1));
    let second = probes.readings(window);
    assert!(first.groups[0].cpu_time_ns > 0, "{:?}", first.groups[0]);
    assert_eq!(first.groups[0].cpu_times_ns, second.groups[0].cpu_times_ns);
    assert_eq!(first.groups[0].voluntary_switches, second.groups[0].voluntary_switches);
}
