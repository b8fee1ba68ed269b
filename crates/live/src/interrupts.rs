// SPDX-License-Identifier: GPL-2.0-only
//! The interrupts of a workload. The kernel's `cpu-clock` events run `interrupts.bpf.c`, and the
//! kernel closes them when this process ends, even if it is killed.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::time::Instant;

use libbpf_rs::{Link, Object, PerfEventOpts};
use model::Trial;
use model::play::script::{InterruptSource, interrupt_sources};

use crate::loader::built_in::BuiltIn;
use crate::probes::maps::{SharedMap, map_memory};

/// Fewer of the expected interrupts are noted, percent.
const ENOUGH_PERCENT: u64 = 95;
/// `PERF_EVENT_IOC_ENABLE` and `PERF_EVENT_IOC_DISABLE`.
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;

/// Interrupts that have not begun, or that go on. Dropping them ends them.
pub struct Interrupts {
    // Fields are dropped in order: the links first.
    _links: Vec<Link>,
    /// The links close them.
    events: Vec<RawFd>,
    sources: Vec<InterruptSource>,
    counts: SharedMap<u8>,
    offset: usize,
    _object: Object,
    began: Option<Instant>,
}

impl Interrupts {
    /// Prepares the interrupts of a trial; `None` if its workload has none.
    ///
    /// # Errors
    /// Why this kernel cannot have them, and what can.
    pub fn prepare(trial: &Trial, cpus: u32) -> Result<Option<Interrupts>, String> {
        if trial.workload.interrupts.is_empty() {
            return Ok(None);
        }
        let sources =
            interrupt_sources(&trial.workload, cpus).map_err(|refusal| refusal.to_string())?;
        let built_in = BuiltIn::new("interrupts", compile::interrupts_object())?;
        let object = built_in
            .load(&[], |_| Ok(()))
            .map_err(|error| format!("{error}; they need root and Linux 5.17"))?;
        let because = |error: &dyn std::fmt::Display| format!("interrupts: {error}");
        let (mut links, mut events) = (Vec::new(), Vec::new());
        for source in &sources {
            let event = open(source).map_err(|error| because(&error))?;
            let cookie = PerfEventOpts { cookie: source.length_ns, ..PerfEventOpts::default() };
            for program in object.progs_mut() {
                let link = program.attach_perf_event_with_opts(event.as_raw_fd(), cookie.clone());
                links.push(link.map_err(|error| because(&error))?);
            }
            events.push(event.into_raw_fd());
        }
        let counts = map_memory(&object, ".bss", built_in.bss_bytes())?;
        let offset = built_in.offset("came");
        let began = None;
        Ok(Some(Interrupts {
            _links: links,
            events,
            sources,
            counts,
            offset,
            _object: object,
            began,
        }))
    }

    pub fn begin(&mut self) {
        self.began = Some(Instant::now());
        self.tell_all(ENABLE);
    }

    /// Ends them. A note, if fewer came than the workload wants.
    pub fn end(self) -> Option<String> {
        let took_ns = self.began?.elapsed().as_nanos() as u64;
        self.tell_all(DISABLE);
        let expected: u64 = self.sources.iter().map(|source| took_ns / source.every_ns).sum();
        let came: u64 = self.counts.read(self.offset);
        (came * 100 < expected * ENOUGH_PERCENT)
            .then(|| format!("of {expected} interrupts, {came} came"))
    }

    fn tell_all(&self, request: libc::c_ulong) {
        for event in &self.events {
            // SAFETY: a descriptor of our links; the request has no argument.
            unsafe { libc::ioctl(*event, request, 0) };
        }
    }
}

/// A disabled `cpu-clock` event of a CPU.
fn open(source: &InterruptSource) -> io::Result<OwnedFd> {
    const DISABLED: u64 = 1;
    let mut attributes = libbpf_sys::perf_event_attr {
        type_: libbpf_sys::PERF_TYPE_SOFTWARE,
        size: size_of::<libbpf_sys::perf_event_attr>() as u32,
        config: libbpf_sys::PERF_COUNT_SW_CPU_CLOCK.into(),
        ..Default::default()
    };
    attributes.__bindgen_anon_1.sample_period = source.every_ns;
    attributes.set_disabled(DISABLED);
    let (every_task, no_group) = (-1, -1);
    // SAFETY: the attributes are a local variable.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            every_task,
            source.cpu,
            no_group,
            libc::c_ulong::from(libbpf_sys::PERF_FLAG_FD_CLOEXEC),
        )
    } as RawFd;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
