# SPDX-License-Identifier: GPL-2.0-only
# Fairground's commands. `make race` and `make test` are the two that a newcomer needs.

CARGO_FLAGS := --release
FAIRGROUND  := target/release/fairground
EXPERIMENT  ?= quick
STORE       ?= race.fairground.db
REPORT      ?= race.html
SEED        ?= 1

.PHONY: help race test bench build setup clean

help:
	@echo "make race    boot real kernels, run real schedulers, write $(REPORT)"
	@echo "make test    build and check everything"
	@echo "make bench   measure Fairground itself"

# Everything that the other targets need, installed once; says what it will do before it does it.
setup:
	@scripts/setup.sh build vm

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
	cargo fmt --all --check
	cargo clippy $(CARGO_FLAGS) --workspace --all-targets -- -D warnings
	cargo deny --offline --log-level error check licenses bans sources
	cargo build $(CARGO_FLAGS)
	$(FAIRGROUND) kernel pull
	cargo test $(CARGO_FLAGS) --workspace

bench: build
	$(FAIRGROUND) kernel pull
	cargo bench -p fairground

clean:
	cargo clean
	rm -f $(STORE) $(STORE)-wal $(STORE)-shm $(REPORT)
