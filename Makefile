# SPDX-License-Identifier: GPL-2.0-only
# Fairground's commands. `make race` and `make test` are the two that a newcomer needs.

CARGO_FLAGS := --release
FAIRGROUND  := target/release/fairground
EXPERIMENT  ?= quick
STORE       ?= race.fairground.db
REPORT      ?= race.html
SEED        ?= 1
SOAK_STORE  ?= soak.fairground.db
MINUTES     ?= 10
# Two for each CPU: many tests wait for a virtual machine or a browser.
TEST_THREADS ?= $$((2 * $$(nproc)))
# Claims to replicate, e.g. CLAIMS=s3-latency; empty: all. QUICK=1: simulator only, 5 minutes.
CLAIMS      ?=
QUICK       ?=
CLAIM_STORE ?= replication.fairground.db
BOOK        := target/book
# Kernels that `make packages-test` boots, as a folder; empty: one of the mirror.
KERNELS     ?=
# The schedulers to soak, e.g. SCHEDULER=./mine.bpf.c; empty: all of schedulers/.
SCHEDULER   ?=
# What `make bench` counts: names of schedulers/, or paths of other files; empty: all of schedulers/.
SCHEDULERS  ?=

# Where `make release` and `make reproducible` write.
DIST        := target/dist

.PHONY: help race test test-all docs replicate soak bench fuzz validate-statistics build setup programs clean
.PHONY: deb packages-test release reproducible

help:
	@echo "make race    boot real kernels, run real schedulers, write $(REPORT)"
	@echo "make test    build, and check what a contribution must pass"
	@echo "make test-all   check the rest: patched kernels, several CPUs, Slurm, packages, soak, fuzz"
	@echo "make docs    build the book, write $(BOOK)/index.html"
	@echo "make replicate   repeat published experiments; QUICK=1: simulator only"
	@echo "make soak    run each scheduler under stress; SCHEDULER=./mine.bpf.c: run yours"
	@echo "make bench   measure Fairground itself"
	@echo "make fuzz    give damaged files to each reader; MINUTES=60: for an hour"
	@echo "make programs   install the real programs that workloads name, and the sources they build"
	@echo "make deb     make a Debian package of the program and the book"
	@echo "make packages-test   install the packages on fresh Debian 12 and 13 and on systems without apt"
	@echo "make release   make everything that a release has, in $(DIST); make reproducible: twice, and compare"
	@echo "make validate-statistics   error rates of the verdicts, on experiments with a known truth"

# Installs what the other targets need, once, and says so before.
setup:
	@scripts/setup.sh build vm

# Only workloads with real programs on `live` need all of these.
programs:
	@scripts/setup.sh programs
	@scripts/sources.sh bzip2
	@scripts/sources.sh postgresql

build: setup
	cargo build $(CARGO_FLAGS)

# The whole pipeline: kernels, boots, trials, records, statistics, report. The simulator answers within a
# minute, on the terminal and in the report; then the kernels are asked, and the report is written again.
race: build
	@if $(FAIRGROUND) plan $(EXPERIMENT) | grep -q '"backend":"sim"'; then \
		$(FAIRGROUND) run $(EXPERIMENT) --on sim --seed $(SEED) --store $(STORE) --resume; status=$$?; \
		if [ $$status -gt 1 ]; then exit $$status; fi; \
		$(FAIRGROUND) report $(EXPERIMENT) --store $(STORE) -o $(REPORT) || exit $$?; \
		echo "The simulator's answer is in $(REPORT); the kernels' follows."; \
	fi
	@if $(FAIRGROUND) plan $(EXPERIMENT) | grep '"backend":"vm"' \
		| grep -q '"cpus":[2-9][^{}]*"clock":"virtual"'; then \
		scripts/setup.sh emulator; $(FAIRGROUND) kernel emulator build \
		|| echo "without it there are no kernels on several CPUs in virtual time"; \
	fi
	$(FAIRGROUND) kernel pull
	@$(FAIRGROUND) run $(EXPERIMENT) --seed $(SEED) --store $(STORE) --resume; status=$$?; \
	if [ $$status -gt 1 ]; then exit $$status; fi; \
	$(FAIRGROUND) report $(EXPERIMENT) --store $(STORE) -o $(REPORT) || exit $$?; \
	echo "The report is in $(REPORT): open it in a browser, it needs no network."; \
	exit $$status

# What `make test` runs. The program is built with its tests: alone it is built with other features of
# its dependencies, so that everything is built twice.
TESTS := --workspace --lib --bins --examples --test it --test memory --test fork_isolation \
	--test tidy --test book

# What a contribution must pass: format, lints, licences, style, the program, the book, a browser, and
# one boot of each kind. Tests below a module `full` are those of `make test-all`.
test:
	@scripts/setup.sh build vm test
	cargo fmt --all --check
	cargo clippy $(CARGO_FLAGS) --workspace --all-targets -- -D warnings
	cargo test $(CARGO_FLAGS) $(TESTS) --no-run
	$(FAIRGROUND) kernel pull
	examples=$$($(FAIRGROUND) kernel examples) && \
	FAIRGROUND_LINUX=$$examples FAIRGROUND_TESTS=all RUST_TEST_THREADS=$(TEST_THREADS) \
	scripts/test.sh $(CARGO_FLAGS) $(TESTS) --no-fail-fast -- --skip full::

# The rest: patched kernels, originals, several CPUs in virtual time, Slurm, packages, soak, fuzz.
test-all:
	@scripts/setup.sh build vm test docs packages kernels emulator slurm full
	@scripts/sources.sh bzip2 || echo "without these sources the test that builds them is skipped"
	cargo test $(CARGO_FLAGS) --workspace --test it --test book --test conformance --test oracles --no-run
	$(FAIRGROUND) kernel pull
	$(FAIRGROUND) kernel emulator build
	PATH="$${CARGO_HOME:-$$HOME/.cargo}/bin:$$PATH" FAIRGROUND_TESTS=all RUST_TEST_THREADS=$(TEST_THREADS) \
	scripts/test.sh $(CARGO_FLAGS) --workspace --test it --test book --no-fail-fast \
		-- full::
	FAIRGROUND_TESTS=all RUST_TEST_THREADS=$(TEST_THREADS) scripts/test.sh $(CARGO_FLAGS) --workspace \
		--test conformance --test oracles --no-fail-fast

# The book: tutorial, how-tos, method, reference. Reading it needs no network.
# The picture is drawn from what `make build` has built.
docs:
	@scripts/setup.sh docs
	@if [ -x $(FAIRGROUND) ]; then scripts/picture.sh $(FAIRGROUND); fi
	@PATH="$${CARGO_HOME:-$$HOME/.cargo}/bin:$$PATH" mdbook build docs
	@echo "The book is in $(BOOK)/index.html."

# A Debian package of this build. Those of a release, for all distributions, are made by `make release`.
deb: build
	@scripts/setup.sh packages
	@scripts/deb.sh $(FAIRGROUND)

# Fresh systems, of Debian and without apt: install and race, with their times. Needs root, and the mirror of
# apt. It is not in `make test-all`, because it compiles the release, and boots kernels.
packages-test: release
	@scripts/setup.sh foreign
	@for codename in bookworm trixie; do \
		KERNELS=$(KERNELS) scripts/chroot.sh $$codename $(DIST)/fairground_*.deb all || exit $$?; \
	done
	@scripts/foreign.sh $(DIST)

release:
	@scripts/setup.sh build packages
	@scripts/release.sh $(DIST)

# Two releases of the last commit, in two folders, must be the same bytes.
reproducible:
	@scripts/setup.sh build packages
	@scripts/reproducible.sh $(DIST)

# Each claim of claims/, by all its tests except those in full size. Records are kept, so an interrupted
# replication continues. A complete one rewrites claims/README.md.
replicate: build
	$(if $(QUICK),,$(FAIRGROUND) kernel pull)
	$(FAIRGROUND) replicate $(CLAIMS) $(if $(QUICK),--quick) --seed $(SEED) --resume \
		--store $(CLAIM_STORE) $(if $(CLAIMS)$(QUICK),,--markdown claims/README.md)

# Storms, hogs, changes, real-time tasks and reloads, on each kernel with sched_ext.
soak: build
	$(FAIRGROUND) kernel pull
	$(FAIRGROUND) soak $(addprefix --scheduler ,$(SCHEDULER)) --store $(SOAK_STORE)

bench: build
	@scripts/setup.sh bench
	cargo bench -p fairground-sim --bench speed
	$(FAIRGROUND) kernel pull
	cargo bench -p fairground --bench instructions -- $(SCHEDULERS)

# Damaged files for each reader until the time is over; MINUTES=60 SEED=7.
fuzz:
	@scripts/setup.sh build
	FAIRGROUND_TESTS=all FUZZ_MINUTES=$(MINUTES) FUZZ_SEED=$(SEED) cargo test $(CARGO_FLAGS) -p fairground --test it full::fuzz -- --nocapture

# Takes a minute; docs/src/method/statistics.md quotes its output.
validate-statistics:
	@scripts/setup.sh build
	cargo bench -p fairground-stats --bench validate

clean:
	cargo clean
	rm -f $(STORE) $(STORE)-wal $(STORE)-shm $(REPORT)
	rm -f $(SOAK_STORE) $(SOAK_STORE)-wal $(SOAK_STORE)-shm
	rm -f $(CLAIM_STORE) $(CLAIM_STORE)-wal $(CLAIM_STORE)-shm
