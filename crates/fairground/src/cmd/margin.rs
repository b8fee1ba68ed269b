// SPDX-License-Identifier: GPL-2.0-only
//! The smallest change that counts, for `history` with and without `--gate`.

use anyhow::Result;

use crate::exit::bad_input;

/// The option.
#[derive(clap::Args)]
pub struct Margin {
    /// Smaller changes do not count, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    margin: f64,
}

impl Margin {
    /// The margin in percent.
    ///
    /// # Errors
    /// When it is below 0 or no number.
    pub fn percent(&self) -> Result<f64> {
        let Margin { margin } = *self;
        if margin >= 0.0 && margin.is_finite() {
            return Ok(margin);
        }
        Err(bad_input(format!("--margin {margin}: write percent, 0 or more")))
    }
}
