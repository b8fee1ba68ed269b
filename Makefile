# SPDX-License-Identifier: GPL-2.0-only
# Fairground's commands. `make race` and `make test` are the two that a newcomer needs.

CARGO_FLAGS := --release
FAIRGROUND  := target/release/fairground
EXPERIMENT  ?= quick
STORE       ?= race.fairground.db
REPORT      ?= race.html
SEED        ?= 1
SOAK_STORE  ?= soak.fairground.db
# Claims to replicate, e.g. CLAIMS=s3-latency; empty: all. QUICK=1: in the simulator only, 5 minutes.
CLAIMS      ?=
QUICK       ?=
CLAIM_STORE ?= replication.fairground.db
REPLICATION ?= replication.html
# The schedulers to soak, e.g. SCHEDULER=./mine.bpf.c; empty: all of the project.
SCHEDULER   ?=
# What `make bench` counts: files of schedulers/ by name, or others by path; all of the former if none.
SCHEDULERS  ?=

.PHONY: help race test replicate soak bench validate-statistics build setup programs clean

help:
	@echo "make race    boot real kernels, run real schedulers, write $(REPORT)"
	@echo "make test    build and check everything"
	@echo "make replicate   ask again what others have published, write $(REPLICATION); QUICK=1: simulated"
	@echo "make soak    put every scheduler under all kinds of stress; SCHEDULER=./mine.bpf.c: yours"
	@echo "make bench   measure Fairground itself"
	@echo "make programs   install the real programs that workloads name, and sources to build"
	@echo "make validate-statistics   error rates of the verdicts, on experiments with a known truth"

# Everything that the other targets need, installed once; says what it will do before it does it.
setup:
	@scripts/setup.sh build vm

# Only who runs workloads with real programs on `live` needs them all.
programs:
	@scripts/setup.sh programs
	@scripts/sources.sh bzip2
	@scripts/sources.sh postgresql

build: setup
	cargo build $(CARGO_FLAGS)

# The whole pipeline: kernels, boots, trials, records, statistics, report.
race: build
	$(FAIRGROUND) kernel pull
	@$(FAIRGROUND) run $(EXPERIMENT) --seed $(SEED) --store $(STORE) --resume; status=$$?; \
	if [ $$status -gt 1 ]; then exit $$status; fi; \
	$(FAIRGROUND) report $(EXPERIMENT) --store $(STORE) -o $(REPORT) || exit $$?; \
	echo "The report is in $(REPORT): open it in a browser, it needs no network."; \
	exit $$status

# Format, lints, licences, unit tests, golden output, and trials on real kernels.
test: setup
	@scripts/setup.sh test
	@scripts/sources.sh bzip2 || echo "without these sources the test that builds them is skipped"
	cargo fmt --all --check
	cargo clippy $(CARGO_FLAGS) --workspace --all-targets -- -D warnings
	cargo deny --offline --log-level error check licenses bans sources
	cargo build $(CARGO_FLAGS)
	$(FAIRGROUND) kernel pull
	examples=$$($(FAIRGROUND) kernel examples) && \
	FAIRGROUND_LINUX=$$examples cargo test $(CARGO_FLAGS) --workspace

# Every claim of claims/ by all its tests but those in the published size. What was measured is kept: an
# interrupted replication goes on. A whole one is what claims/README.md keeps.
replicate: build
	$(if $(QUICK),,$(FAIRGROUND) kernel pull)
	$(FAIRGROUND) replicate $(CLAIMS) $(if $(QUICK),--quick) --seed $(SEED) --resume \
		--store $(CLAIM_STORE) -o $(REPLICATION) $(if $(CLAIMS)$(QUICK),,--markdown claims/README.md)

# Storms, hogs, changes, real-time tasks, reloads, on each kernel with sched_ext: who survives?
soak: build
	$(FAIRGROUND) kernel pull
	$(FAIRGROUND) soak $(addprefix --scheduler ,$(SCHEDULER)) --store $(SOAK_STORE)

bench: build
	@scripts/setup.sh bench
	cargo bench -p fairground-sim --bench speed
	cargo bench -p fairground-report --bench page
	$(FAIRGROUND) kernel pull
	cargo bench -p fairground --bench records
	cargo bench -p fairground --bench instructions -- $(SCHEDULERS)

# A minute; METHOD.md quotes its output.
validate-statistics:
	@scripts/setup.sh build
	cargo bench -p fairground-stats --bench validate

clean:
	cargo clean
	rm -f $(STORE) $(STORE)-wal $(STORE)-shm $(REPORT)
	rm -f $(SOAK_STORE) $(SOAK_STORE)-wal $(SOAK_STORE)-shm
	rm -f $(CLAIM_STORE) $(CLAIM_STORE)-wal $(CLAIM_STORE)-shm $(REPLICATION)
