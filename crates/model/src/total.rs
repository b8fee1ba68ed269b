// SPDX-License-Identifier: GPL-2.0-only
//! Task groups that are also measured together: four networks' servers as `servers`.

use serde::{Deserialize, Serialize};

/// Groups under one name. Their numbers are added up, their distributions pooled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Total {
    /// The name of the total in metrics.
    pub name: String,
    /// The groups' names.
    pub groups: Vec<String>,
}
