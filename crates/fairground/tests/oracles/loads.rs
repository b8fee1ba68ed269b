// SPDX-License-Identifier: GPL-2.0-only
//! Workloads that several schedulers' oracles share.

/// As long as it takes to ask a file's functions.
pub const SHORT: &str = "
duration_us = 1000
[[task]]
name = \"one\"
steps = [{ run_us = 100 }]
";

/// Somebody who has slept for 10 s and then computes, beside two hogs.
pub const LONG_SLEEPER: &str = "
duration_us = 17000000
[[task]]
name = \"hog\"
count = 2
steps = [{ run_us = 100000 }]
[[task]]
name = \"sleeper\"
delay_us = 10000000
steps = [{ run_us = 100000 }]
";
