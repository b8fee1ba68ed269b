// SPDX-License-Identifier: GPL-2.0-only
//! Tests of originals: where they stand in a claim, and what their experiments compare.

use model::claim::Test;
use model::{Backend, Contestant, SchedulerChoice};

use super::Asked;
use crate::claims::unbuilt::is_own;
use spec::SpecError;
use spec::source::Places;

/// They boot kernels, and stand before the tests of our files, for which they speak.
pub fn place(test: &Test, before: &[Test], path: &str, places: &Places) -> Result<(), SpecError> {
    let error = |field: &str, text: String, hint: &str| {
        Err(places.error(&format!("{path}.{field}"), text).hint(hint))
    };
    if !test.originals {
        return Ok(());
    }
    if test.on != Backend::Vm {
        let text = format!("originals are kernels, and {} boots none", test.on.word());
        return error("on", text, "write on = \"vm\", or delete originals = true");
    }
    if let Some(earlier) = before.iter().find(|earlier| !earlier.originals) {
        let text = format!("'{}' stands before a test of originals", earlier.name);
        return error("originals", text, "move it up: tests with originals = true come first");
    }
    Ok(())
}

/// They are kernels alone, and one of them at least was built here.
pub fn contestants(path: &str, asked: &Asked<'_>) -> Result<(), SpecError> {
    let error = |field: &str, text: String, hint: &str| {
        Err(asked.places.error(&format!("{path}.{field}"), text).hint(hint))
    };
    let all = &asked.experiment.contestants;
    let is_kernel = |one: &&Contestant| one.scheduler == SchedulerChoice::Kernel;
    if let Some(other) = all.iter().find(|one| !is_kernel(one)) {
        let text = format!("the experiment has '{}', which is no kernel alone", other.name);
        let hint = "write e.g. kernel = \"bore-6.7.3\" without file, program or policy; or delete \
                    originals = true";
        return error("experiment", text, hint);
    }
    let kernels: Vec<&str> = all.iter().filter_map(|one| one.kernel.as_deref()).collect();
    if !kernels.iter().any(|kernel| is_own(kernel)) {
        let kernels = kernels.join(", ");
        let text = format!("the experiment has no original; its kernels are {kernels}");
        let hint = "name a kernel that `fairground kernel build` makes, e.g. kernel = \
                    \"bore-6.7.3\"; or delete originals = true";
        return error("originals", text, hint);
    }
    Ok(())
}
