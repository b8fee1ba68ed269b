// SPDX-License-Identifier: GPL-2.0-only
//! Pulls every kernel into `$FAIRGROUND_HOME`: `cargo run --release -p fairground-vm --example pull`.

fn main() -> anyhow::Result<()> {
    let home = std::path::PathBuf::from(std::env::var("FAIRGROUND_HOME")?);
    let started = std::time::Instant::now();
    for kernel in vm::kernels::pull(&home, &["6.1", "6.12", "7"], &mut |note| println!("{note}"))? {
        println!("{kernel:#?}");
    }
    println!("{:?}", started.elapsed());
    Ok(())
}
