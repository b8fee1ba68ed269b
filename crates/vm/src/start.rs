// SPDX-License-Identifier: GPL-2.0-only
//! How a boot's machine comes to its orders: it boots its kernel, or it goes on from a saved state.
//!
//! Where boots can be saved, every guest stops when it is ready, also in a boot that nobody has
//! saved: its state is written to memory, and another process of QEMU goes on from there. So all
//! boots take the same way, and the state is kept once a guest has gone on from it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use model::Clock;

use crate::arguments;
use crate::channel::{self, Orders};
use crate::control::{Control, Ends};
use crate::guest::setup;
use crate::initramfs::{self, Boot, Contents, Image};
use crate::qemu::{self, Qemu, memory_file, path_of};
use crate::request::Setup;
use crate::saved_boots::{self, Place};

/// What a boot's machine is started with.
pub(crate) struct Parts<'a> {
    setup: &'a Setup<'a>,
    image: Image,
    orders: Vec<u8>,
    /// Whether the guest stops when it is ready.
    pauses: bool,
}

impl<'a> Parts<'a> {
    /// Packs the guest's file system, and the orders from a trial on.
    pub fn pack(setup: &'a Setup<'a>, first: usize, boot_id: &str) -> Result<Parts<'a>> {
        let request = setup.request;
        let is_virtual = request.machine.clock == Clock::Virtual;
        let objects = request.files.iter().filter(|(path, _)| initramfs::is_object(path));
        let orders = Orders {
            boot_id: is_virtual.then(|| boot_id.to_owned()),
            trials: request.trials[first..].to_vec(),
            objects: objects.cloned().collect(),
        };
        let pauses = setup.pauses.get();
        Ok(Parts { setup, image: image(setup, pauses)?, orders: orders.encode()?, pauses })
    }

    /// See [`Image::sha256`].
    pub fn image_sha256(&self) -> &str {
        &self.image.sha256
    }

    /// Where this guest's saved state is, or would be; `None` if it is not to be kept.
    fn place(&self) -> Option<Place> {
        let request = self.setup.request;
        // The image's path is not part of it: its content is.
        let arguments = self.machine(Path::new("")).join("\n");
        let key = saved_boots::key(&[
            &request.kernel.sha256,
            &self.image.sha256,
            &self.image.message,
            self.program()?,
            &self.setup.qemu_version,
            &self.setup.firmware,
            &arguments,
        ]);
        Some(Place::new(request.saved.as_deref()?, key))
    }

    /// SHA-256 of the program that executes the machine; `None` if it cannot be read.
    fn program(&self) -> Option<&str> {
        match self.setup.emulator {
            Some(emulator) => Some(&emulator.facts.sha256),
            None => qemu::content(),
        }
    }

    /// QEMU's arguments that describe the machine.
    fn machine(&self, image: &Path) -> Vec<String> {
        let Setup { request, accelerator, emulator, .. } = self.setup;
        arguments::arguments(image, request.machine, *accelerator, emulator.is_some())
    }

    /// Starts a machine that boots its kernel.
    fn boot(&mut self, control: Option<&Ends>) -> Result<Qemu> {
        let initramfs = memory_file(c"fairground-initramfs", &self.image.bytes)?;
        self.image.bytes = Vec::new();
        let more = ["-initrd".into(), path_of(&initramfs)];
        self.start(&more, control, &initramfs)
    }

    /// Starts a machine that goes on from a state.
    fn restore(&self, state: &File) -> Result<Qemu> {
        let more = ["-incoming".into(), format!("fd:{}", state.as_raw_fd())];
        self.start(&more, None, state)
    }

    fn start(&self, more: &[String], control: Option<&Ends>, file: &impl AsRawFd) -> Result<Qemu> {
        let mut arguments = self.machine(&self.setup.request.kernel.image);
        arguments.extend_from_slice(more);
        let orders = memory_file(c"fairground-orders", &self.orders)?;
        let passed = format!("name={},file={}", channel::NAME, path_of(&orders));
        arguments.extend(["-fw_cfg".into(), passed]);
        let mut inherited = vec![file.as_raw_fd(), orders.as_raw_fd()];
        if let Some(ends) = control {
            arguments.extend(ends.arguments());
            inherited.extend(ends.descriptors());
        }
        let Some(emulator) = self.setup.emulator else {
            return Qemu::start(Path::new(qemu::PROGRAM), &arguments, &inherited);
        };
        // It was built without firmware.
        let folders = qemu::firmware_folders().into_iter();
        arguments.extend(folders.flat_map(|folder| ["-L".to_owned(), folder]));
        Qemu::start(&emulator.program, &arguments, &inherited)
    }
}

/// What is still to be done on the way to the orders.
#[derive(Default)]
pub(crate) struct BootMethod {
    /// The control of a machine that will stop.
    control: Option<Control>,
    place: Option<Place>,
    /// Held while the state is made.
    lock: Option<File>,
    made: Option<File>,
    /// Whether the machine went on from a state that was kept.
    pub is_saved: bool,
    /// Whether the guest has its orders.
    pub has_ended: bool,
}

impl BootMethod {
    /// Whether the guest that runs went on from a state, and has not said a word yet.
    pub fn is_open(&self) -> bool {
        !self.has_ended && (self.is_saved || self.made.is_some())
    }

    /// Called when the guest has said that it stops: saves it, and lets it go on.
    pub fn go_on(&mut self, parts: &Parts, qemu: &mut Qemu) -> Result<()> {
        let Some(mut control) = self.control.take() else { return Ok(()) };
        control.await_stop()?;
        match control.save() {
            Ok(state) => {
                qemu.kill();
                *qemu = parts.restore(&state)?;
                self.made = Some(state);
                Ok(())
            }
            // A machine that cannot be saved can go on by itself.
            Err(_) => control.go_on(),
        }
    }

    /// Called when the guest has its orders: its state is a good one, and is kept.
    ///
    /// # Errors
    /// It cannot be written, which harms nothing.
    pub fn end(&mut self) -> Result<()> {
        self.has_ended = true;
        let kept = match (&self.place, self.made.take()) {
            (Some(place), Some(mut state)) => place.keep(&mut state),
            _ => Ok(()),
        };
        self.lock = None;
        kept
    }

    /// Called when the guest does not go on from a state that was kept.
    pub fn fail(&mut self) {
        if let (Some(place), true) = (&self.place, self.is_saved) {
            place.remove();
        }
    }
}

pub(crate) fn start(parts: &mut Parts, stop: &AtomicBool) -> Result<(Qemu, BootMethod)> {
    if !parts.pauses {
        return Ok((parts.boot(None)?, BootMethod::default()));
    }
    let mut way = BootMethod { place: parts.place(), ..BootMethod::default() };
    if let Some(qemu) = restored(parts, &mut way, stop) {
        return Ok((qemu, BootMethod { is_saved: true, lock: None, ..way }));
    }
    let (mut control, ends) = Control::new(setup::ADDRESS)?;
    let qemu = parts.boot(Some(&ends))?;
    drop(ends);
    control.greet()?;
    control.begin()?;
    way.control = Some(control);
    Ok((qemu, way))
}

/// A machine that goes on from a state that was kept; else nobody but this boot makes it now.
fn restored(parts: &Parts, way: &mut BootMethod, stop: &AtomicBool) -> Option<Qemu> {
    let place = way.place.as_ref()?;
    let state = place.find().or_else(|| {
        way.lock = place.lock(parts.setup.silence_max, stop);
        place.find()
    })?;
    let restored = parts.restore(&state);
    if restored.is_err() {
        place.remove();
    }
    restored.ok()
}

fn image(setup: &Setup, pauses: bool) -> Result<Image> {
    let request = setup.request;
    let boot = Boot {
        pauses,
        accelerator: setup.accelerator.word().to_owned(),
        kernel_sha256: request.kernel.sha256.clone(),
        path: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
    };
    let config = request.kernel.config.as_deref();
    initramfs::build(&Contents {
        executable: request.executable,
        programs: &request.programs,
        parts: &request.parts,
        files: &request.files,
        config: config.map(|config| (request.kernel.release.as_str(), config)),
        boot: &boot,
    })
}
