# Everything from a fresh machine with Python 3.11 or later and a Rust toolchain (cargo, with a C linker):
#   make flash-and-bench    measure all available firmware, print and store the table
#   make test               all tests
#   make quick              those that need neither Rust nor an image, in seconds
#   make fuzz               attacks on the emulated board: docs/evidence/testing.md
# Options of portbench's verbs go into ARGS: make flash-and-bench ARGS="--runtime micropython-1.26.0 --runs 1"

VENV ?= .venv
BIN := $(VENV)/bin
# From this folder the package is found without being installed.
PORTBENCH := $(BIN)/python -m portbench
ENGINE := engine
ENGINE_SOURCES := $(shell find $(ENGINE) -name target -prune -o \( -name '*.rs' -o -name 'rom.bin' -o -name 'Cargo.*' \) -print)
METADATA := portbench.egg-info/PKG-INFO
ARGS ?=
# tests/conftest.py says why; here it is early enough for what pytest imports first.
unexport PYTHONDONTWRITEBYTECODE
# Workers of pytest; the first to end takes tests from the others. ARGS="-n0 --pdb" has none.
ON_ALL_CORES := -n logical --dist worksteal
# LINTING: settings of another compiler, as .ci/run has them.
LINTING ?=
# A board has large tables of zeros. glibc would soon take their memory from the one before, and clear it: a third of the tests' time.
CARGO_TEST := MALLOC_MMAP_THRESHOLD_=1048576 $(LINTING) cargo test --quiet --manifest-path $(ENGINE)/Cargo.toml --workspace --exclude binding --exclude portbench-tls
STEPS ?= 1000000
PROGRAMS ?= 2000
SEED ?= 1

# The first Python that is new enough; PYTHON=/path/to/python chooses another.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$python"; break; }; done)

.PHONY: help flash-and-bench benchmark unprobed trace soak test test-python test-engine test-arm test-wasm fuzz fuzz-today fuzz-lib fuzz-chip quick build \
	dependencies list boards publish site playground test-playground lint lint-python lint-engine clippy format lock clean

# The lines above, as help.
help:
	@sed -n '/^#   make/s/^#   //p' $(firstword $(MAKEFILE_LIST))
	@echo 'more: make benchmark, trace, soak, fuzz-today, list, boards, publish, site, playground, lint, format, lock, clean; comments in Makefile'

# Real boards need no emulated one, and so no Rust toolchain.
flash-and-bench: $(if $(filter silicon --where=silicon,$(ARGS)),dependencies,build)
	$(PORTBENCH) run --all $(ARGS)

# Speed and memory of the emulated board; options: make benchmark ARGS="-k loop --speed-json figures.json"
benchmark: build
	$(BIN)/pytest tests/speed --speed $(ARGS)

# An engine that has no probes, for what they cost while they are off: make unprobed benchmark ARGS="-k probes"
unprobed: build
	PYO3_PYTHON='$(abspath $(BIN))/python' cargo build --quiet --release --manifest-path $(ENGINE)/Cargo.toml --package binding --lib \
		--features unprobed --target-dir $(ENGINE)/target/unprobed

# One message of a row, decoded; options: make trace ARGS="micropython-1.26.0/tuned --pc 200"
trace: build
	$(PORTBENCH) trace $(ARGS)

# Both at once: cargo runs its tests one program after the other, and while most tests in Python wait for a board.
test: build
	@$(MAKE) --no-print-directory -j test-python test-engine

test-python: build
	$(BIN)/pytest tests $(ON_ALL_CORES) $(ARGS)

# Its output comes whole, not among that of pytest. The binding and TLS are tested in Python, and the examples by a test.
test-engine:
	@$(call need_cargo)
	@if [ -x $(BIN)/python ]; then PORTBENCH_BOOTROM=$$($(BIN)/python -m portbench_engine) && export PORTBENCH_BOOTROM; fi; \
		output=$$({ $(CARGO_TEST) --tests && $(CARGO_TEST) --doc; } 2>&1); status=$$?; \
		printf '%s\n' "$$output"; exit $$status

# The engine's translated code for an Arm PC, under QEMU. It wants rustup's target aarch64-unknown-linux-gnu, or the source of Rust's
# library (ARGS="-Zbuild-std=std,panic_unwind"), and gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user.
test-arm:
	@$(call need_cargo)
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='qemu-aarch64 -L /usr/aarch64-linux-gnu' \
		cargo test --manifest-path $(ENGINE)/Cargo.toml --target aarch64-unknown-linux-gnu $(ARGS) \
		--package portbench-armv8m --lib --package portbench-rp --test chip -- fuzz translated a_loop two_cores waits

# The same for a browser, in Node. It wants rustup's target wasm32-wasip1. Left out: programs that make most modules.
test-wasm:
	@$(call need_cargo)
	CARGO_TARGET_WASM32_WASIP1_RUNNER='node --no-warnings --max-old-space-size=12000 $(abspath $(ENGINE))/web/wasi.mjs' \
	CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS='-C link-arg=--export-table -C link-arg=--growable-table' \
		cargo test --manifest-path $(ENGINE)/Cargo.toml --target wasm32-wasip1 $(ARGS) \
		--package portbench-armv8m --lib --package portbench-rp --test chip \
		-- fuzz:: a_loop two_cores waits translated_code_equals --skip flash_moves

# Hostile guests on whole boards, with an ATmega too, and on the LAN, nonsense on gSPI, random PIO programs, and translated code beside the
# interpreter: make fuzz STEPS=10000000 SEED=7. See docs/evidence/testing.md.
fuzz:
	@$(call need_cargo)
	PORTBENCH_FUZZ_STEPS=$(STEPS) PORTBENCH_FUZZ_SEED=$(SEED) \
		cargo test --quiet --manifest-path $(ENGINE)/Cargo.toml --package portbench-engine --test hostile -- --nocapture
	PORTBENCH_FUZZ_STEPS=$(STEPS) PORTBENCH_FUZZ_SEED=$(SEED) \
		cargo test --quiet --manifest-path $(ENGINE)/Cargo.toml --package portbench-engine --test machine avr::hostile -- --nocapture
	LAN_FUZZ_FRAMES=$(STEPS) \
		cargo test --quiet --manifest-path $(ENGINE)/Cargo.toml --package portbench-lan --test cable fuzz::arbitrary -- --nocapture
	PORTBENCH_FUZZ_PROGRAMS=$(STEPS) PORTBENCH_FUZZ_SEED=$(SEED) \
		cargo test --quiet --manifest-path $(ENGINE)/Cargo.toml --package portbench-cyw43 --test host fuzz -- --nocapture
	PORTBENCH_FUZZ_PROGRAMS=$$(($(STEPS) / 1000)) PORTBENCH_FUZZ_SEED=$(SEED) \
		cargo test --quiet --manifest-path $(ENGINE)/Cargo.toml --package portbench-rp --lib batch -- --nocapture
	PORTBENCH_FUZZ_STEPS=$(STEPS) PORTBENCH_FUZZ_SEED=$(SEED) \
		cargo test --quiet --manifest-path $(ENGINE)/Cargo.toml --package portbench-rp --test chip rp2040::translated::a_loop -- --nocapture
	PORTBENCH_FUZZ_PROGRAMS=$$(($(STEPS) / 1000)) PORTBENCH_FUZZ_SEED=$(SEED) \
		cargo test --quiet --manifest-path $(ENGINE)/Cargo.toml --package portbench-rp --test chip flash_moves -- --nocapture
	PORTBENCH_FUZZ_STEPS=$(STEPS) PORTBENCH_FUZZ_SEED=$(SEED) \
		cargo test --quiet --manifest-path $(ENGINE)/Cargo.toml --package portbench-armv8m --lib fuzz -- --nocapture

# Two implementations that must do the same, with a seed of the day: make fuzz-today SEED=20261128 is that day's. With 2000 programs
# of each kind it takes about two minutes of processor time. It runs the test programs of `make test`.
fuzz-today fuzz-lib fuzz-chip: SEED := $(shell date +%Y%m%d)
fuzz-today: fuzz-lib fuzz-chip

fuzz-lib: PROGRAMS_OF := --lib
fuzz-chip: PROGRAMS_OF := --test chip
fuzz-lib fuzz-chip:
	@$(call need_cargo)
	PORTBENCH_FUZZ_STEPS=$(PROGRAMS)0000 PORTBENCH_FUZZ_PROGRAMS=$(PROGRAMS) PORTBENCH_FUZZ_SEED=$(SEED) $(CARGO_TEST) $(PROGRAMS_OF) -- \
		a_loop_leaves deferred_batches_equal that_waits translated_code_equals translated_programs_do two_cores_do

# Unit tests only: the engine is not built, and one that is there is not used.
quick: dependencies
	@$(alone) $(MAKE) --silent $(METADATA)
	PYTHONPATH='$(CURDIR)' $(BIN)/python -m pytest tests -m 'not engine and not slow' $(ON_ALL_CORES) $(ARGS)

# Look for cargo before installing anything; a built engine needs none.
build:
	@$(MAKE) --question --no-print-directory $(VENV)/.built 2>/dev/null || \
		{ { $(need_cargo); } && $(alone) $(MAKE) --no-print-directory $(VENV)/.built; }

dependencies:
	@$(alone) $(MAKE) --silent $(VENV)/.dependencies

# Runtimes and whether their images are at hand, profiles, workloads and kinds of boards.
list: dependencies
	$(PORTBENCH) list $(ARGS)

# The boards that are plugged in, and what runs on them.
boards: dependencies
	$(PORTBENCH) list boards $(ARGS)

# Flash, deploy and run again and again while things go wrong: make soak ARGS="--cycles 1000 --seed 7". See docs/evidence/soak.md.
soak: build
	$(BIN)/pytest tests/soak/test_cycles.py --cycles 100 $(ON_ALL_CORES) $(ARGS)

# The last run as docs/results.md and results/page.html, its chart in the README, and its figures for `portbench advise`.
publish: dependencies
	$(PORTBENCH) show publish --into README.md --into docs/README.md $(ARGS)
	$(PORTBENCH) show publish --output results/figures/W5500_EVB_PICO.json

# The documents as a site, in build/site.
site: dependencies
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The emulated board as a page of static files, in build/playground; docs/playground.md says what it needs.
playground: build
	$(BIN)/python $(ENGINE)/web/build.py build/playground

# Its tests in Chromium and Firefox, for which it is compiled faster: sudo .ci/install-system-packages --playground
test-playground: build
	PORTBENCH_TEST_PLAYGROUND=1 $(BIN)/pytest -n0 tests/page/test_playground.py $(ARGS)

lint: lint-python lint-engine clippy

lint-python: dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/zizmor --quiet --offline --no-progress --min-severity medium .github action.yml docs/workflows/*.yml

lint-engine:
	@$(call need_cargo)
	cargo fmt --manifest-path $(ENGINE)/Cargo.toml --all --check
	cargo check --quiet --manifest-path $(ENGINE)/Cargo.toml --package binding
	RUSTDOCFLAGS='--deny warnings' cargo doc --quiet --manifest-path $(ENGINE)/Cargo.toml --workspace --no-deps
	cargo package --quiet --manifest-path $(ENGINE)/Cargo.toml --workspace --exclude binding --exclude portbench-web --no-verify --allow-dirty --offline

clippy:
	@$(call need_cargo)
	cargo clippy --quiet --manifest-path $(ENGINE)/Cargo.toml --workspace --all-targets -- --deny warnings

format: dependencies
	$(BIN)/ruff format .
	cargo fmt --manifest-path $(ENGINE)/Cargo.toml --all

# requirements.lock holds versions and hashes, and no address of any index: yours is used.
lock: dependencies
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--all-extras --group dev --group build --no-emit-package portbench-engine --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) $(VENV).lock build $(ENGINE)/target *.egg-info

# Makes that run in one checkout at once take turns where they write into it; the later ones find it done.
alone = $(need_python) '$(PYTHON)' -c 'import fcntl, subprocess, sys; lock = open(sys.argv[1], "w"); \
	fcntl.flock(lock, fcntl.LOCK_EX); sys.exit(subprocess.call(sys.argv[2:], close_fds=False))' $(VENV).lock

define need_python
test -n '$(PYTHON)' || { echo 'portbench: no Python 3.11 or later here; install one, or name it: make PYTHON=/path/to/python' >&2; exit 1; }; \
'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo 'portbench: $(PYTHON) is no Python 3.11 or later; name one: make PYTHON=/path/to/python' >&2; exit 1; };
endef

define need_cargo
command -v cargo >/dev/null || { echo 'portbench: no Rust toolchain here (cargo), which builds the emulated board; install it with rustup' >&2; exit 1; }
endef

# uv needs a fifth of pip's time; where it finds no index, since it does not read pip's settings, pip does the same.
$(VENV)/.dependencies: requirements.lock
	@echo 'portbench: making $(VENV)'
	'$(PYTHON)' -m venv $(VENV)
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.built: $(VENV)/.dependencies pyproject.toml $(ENGINE)/pyproject.toml $(ENGINE)/setup.py $(ENGINE_SOURCES)
	@echo 'portbench: compiling the engine of the emulated board, some minutes: $(ENGINE)/ to portbench_engine'
	@rm -f $(ENGINE)/python/portbench_engine/_native.*.so $(ENGINE)/python/portbench_engine/_native.*.pyd
	@started=$$(date +%s) && \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable $(ENGINE) --editable . && \
	{ $(BIN)/python -c 'import portbench_engine' 2>/dev/null || \
		{ echo 'portbench: the engine was not built; see why: cargo build --release --manifest-path $(ENGINE)/Cargo.toml' >&2; exit 1; }; } && \
	echo "portbench: compiled in $$(( $$(date +%s) - started )) s"
	@touch $@

# What an installation would tell Python of the package: its version, and that it is a plugin of pytest.
$(METADATA): $(VENV)/.dependencies pyproject.toml
	$(BIN)/python -c 'import setuptools; setuptools.setup()' --quiet egg_info
	@touch $@
