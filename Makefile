# make demo | test | bench | lint are all a newcomer needs; `make help` lists the rest.

CARGO ?= cargo
CARGO_TARGET_DIR ?= target
LIBRARY = $(CARGO_TARGET_DIR)/release/libwindlass_preload.so
TOKEN = $(CARGO_TARGET_DIR)/release/libwindlass_pkcs11.so
SABOTAGED = $(CARGO_TARGET_DIR)/sabotage/release/libwindlass_preload.so

# The tests start their programs from a clean environment; this is for the harness itself.
PYTHON = env -u LD_PRELOAD -u SSL_CERT_FILE -u SSL_CERT_DIR /usr/bin/python3 -B
DIFFERENTIAL = $(PYTHON) tests/differential/run.py --library $(LIBRARY)
PROCESS = $(PYTHON) tests/differential/process.py --library $(LIBRARY) --sabotaged $(SABOTAGED)
ALLOCATIONS = $(PYTHON) tests/field/allocations/allocations.py --library $(LIBRARY) --sabotaged $(SABOTAGED)
MEMORY = $(PYTHON) tests/differential/memory.py
BROKEN = $(PYTHON) tests/differential/run.py --library $(SABOTAGED) --suites verdicts
COMPILED = --compiled --windlass $(CARGO_TARGET_DIR)/release/windlass
STORE_FAULTS = $(PYTHON) tests/differential/store_faults.py --library $(LIBRARY)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test bench bench-peers performance site lint msrv deny setup build build-sabotage openssl gnutls \
	pkcs11 test-unit test-docs test-differential test-broken test-compiled test-process allocations test-memory \
	test-gnutls test-e2e test-guest guest test-field field test-add-ca test-pkcs11 test-certdata test-trace \
	test-trace-library test-top test-doctor python-module test-python pythons test-ruby test-c test-packaging \
	test-packaging-broken test-installed installed deb wheel layer gem install-c test-matrix test-kubernetes \
	test-kubernetes-manifests test-alone soak fuzz fuzz-store asan valgrind

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-26s %s\n", $$1, $$2 }'

demo: build ## builds, then shows the gain on this machine's programs and trust store
	bench/demo.sh

# From quick to slow. A suite that fails stops the others, unless make was told to keep going (-k).
SUITES = test-docs test-kubernetes-manifests test-unit test-differential test-broken test-compiled test-process \
	test-memory test-gnutls test-e2e test-guest test-field test-add-ca test-trace test-trace-library test-top \
	test-doctor test-pkcs11 test-certdata test-python test-ruby test-c test-packaging test-installed
SHORT_FLAGS = $(filter-out --%,$(firstword $(MAKEFLAGS)))
KEEP_GOING = $(if $(findstring =,$(SHORT_FLAGS)),,$(findstring k,$(SHORT_FLAGS)))

test: ## installs what the tests need and runs them all
	@CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) $(PYTHON) tests/suites.py $(if $(KEEP_GOING),--keep-going) \
	    $(MAKE) setup build build-sabotage -- $(SUITES)

bench: build ## measures against the stock libraries, keeps the raw samples
	bench/run.sh

bench-peers: build ## measures beside Go, Node, Java, rustls, Python and newer OpenSSLs, keeps the raw samples
	bench/run.sh --keep peers

performance: ## docs/performance.md and its pictures, from the newest run in bench/results/
	$(PYTHON) bench/harness/pages.py

# Not in `make test`: it builds mdBook from crates.io, once.
MDBOOK = $(CARGO_TARGET_DIR)/mdbook/bin/mdbook
$(MDBOOK):
	$(CARGO) install mdbook --version 0.4.52 --locked --no-default-features --features search \
	    --root $(CARGO_TARGET_DIR)/mdbook --target-dir $(CARGO_TARGET_DIR)/mdbook-build

site: $(MDBOOK) ## all pages as a book in target/site; fails if a link leads nowhere
	$(PYTHON) docs/site/build.py $(MDBOOK) $(CARGO_TARGET_DIR)/site

lint: ## formatting, lines of at most 120 characters, clippy and documentation, warnings as errors
	$(CARGO) fmt --all --check
	$(PYTHON) tests/docs/line_lengths.py
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --document-private-items

msrv: ## the oldest Rust that Cargo.toml states: what the dependencies ask for, and a check with it if it is installed
	CARGO='$(CARGO)' CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) $(PYTHON) tests/msrv.py $(MSRV_OPTIONS)

# Not in `make lint`: it builds cargo-deny from crates.io, once.
DENY = $(CARGO_TARGET_DIR)/cargo-deny/bin/cargo-deny
DENY_CHECKS = bans licenses sources
$(DENY):
	$(CARGO) install cargo-deny --version 0.18.9 --locked \
	    --root $(CARGO_TARGET_DIR)/cargo-deny --target-dir $(CARGO_TARGET_DIR)/cargo-deny-build

deny: $(DENY) ## licences, bans and sources of the dependencies, as deny.toml says (DENY_CHECKS=advisories)
	$(DENY) --workspace check $(DENY_CHECKS)

test-alone: ## each crate checked by itself, with its own features only
	CARGO='$(CARGO)' tests/alone.sh

setup: ## installs the Debian packages the tests need
	tests/setup.sh

build: ## the release build: the command and the preload library
	$(CARGO) build --release --workspace

build-sabotage: ## the deliberately broken library the tests must notice
	$(CARGO) build --release -p windlass-preload --features sabotage --target-dir $(CARGO_TARGET_DIR)/sabotage

openssl: ## OpenSSL 1.1.1w, 3.5 and 4.0 under target/openssl
	tests/openssl/build.sh

gnutls: ## GnuTLS 3.8 under target/gnutls, from Debian's sources
	tests/gnutls/build.sh

pkcs11: ## the newest p11-kit and NSS under target/pkcs11, from Debian
	tests/pkcs11/build.sh

test-unit: build openssl ## cargo test for the workspace
	WINDLASS_PRELOAD_LIBRARY=$(abspath $(LIBRARY)) WINDLASS_PKCS11_LIBRARY=$(abspath $(TOKEN)) \
	    $(CARGO) test --workspace --no-fail-fast

test-docs: ## links of the pages, and what is made of the recorded benchmarks
	$(PYTHON) tests/docs/run.py

test-differential: build openssl ## the same scripts with and without the library, on every OpenSSL
	$(DIFFERENTIAL)
	$(DIFFERENTIAL) --attached --sample 8

test-broken: build-sabotage openssl ## broken libraries must be noticed by the differential tests
	$(PYTHON) tests/differential/run.py --stand-in --suites verdicts --cases 'universe-00*'
	for how in first last reversed; do \
	    $(BROKEN) --sabotage $$how --cases 'universe-0[0-2]*' || exit 1; \
	done

test-compiled: build build-sabotage openssl
test-compiled: ## a sample of the scripts with compiled stores, and what can go wrong with them (as root)
	$(DIFFERENTIAL) $(COMPILED) --sample 8
	for how in first last reversed lie; do \
	    $(BROKEN) $(COMPILED) --sabotage $$how --cases 'universe-0[0-2]*' || exit 1; \
	done
	$(STORE_FAULTS)

test-process: build build-sabotage openssl gnutls
test-process: ## threads, fork, several libcryptos, secure execution, edited certificates, failing allocations
	$(PROCESS)
	$(PYTHON) tests/openssl/handed_out.py
	$(ALLOCATIONS) --children 160

allocations: build build-sabotage openssl gnutls
allocations: ## two thousand children on each OpenSSL and GnuTLS, in which allocations fail
	$(ALLOCATIONS) --children 2000

test-memory: build openssl ## a subset of the scripts under valgrind and AddressSanitizer
	$(MEMORY) valgrind --library $(LIBRARY) --builds system --cases '[lv]*'
	$(MEMORY) asan --library $(LIBRARY)

test-gnutls: build build-sabotage openssl gnutls
test-gnutls: ## the same scripts of GnuTLS calls with and without the library, on 3.7 and 3.8; threads, fork, memory
	for how in first last reversed; do \
	    $(PYTHON) tests/gnutls/compare.py --library $(SABOTAGED) --sabotage $$how \
	        --suites hierarchies --cases 'hierarchy-00[0-4]' || exit 1; \
	done
	$(PYTHON) tests/gnutls/whole.py --library $(LIBRARY)
	$(PYTHON) tests/gnutls/compare.py --library $(LIBRARY) --compiled --builds system \
	    --suites hierarchies,sources --sample 8
	$(PYTHON) tests/gnutls/compare.py --library $(LIBRARY)

test-e2e: build ## real programs against local servers
	tests/e2e/run.sh

test-guest: build openssl ## a sample of `make guest`: entry points, whole programs, filters, chronyd with NTS (as root)
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/guest/run.sh --sample

guest: build openssl
guest: ## what the library calls of the kernel, against what stock calls: every entry point on every OpenSSL (as root)
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/guest/run.sh

test-field: build openssl gnutls
test-field: ## a sample of the ways in which programs come to call OpenSSL and GnuTLS: wrappers, plugins, copies, dlsym
	tests/field/run.sh --sample

field: build openssl gnutls ## all of these
	tests/field/run.sh

test-add-ca: build openssl gnutls
test-add-ca: ## `run --add-ca` with real programs: who trusts the added CA, and that nothing is left (as root)
	tests/add-ca/run.sh

test-pkcs11: build pkcs11
test-pkcs11: ## consumers of PKCS#11 trust, with the token and p11-kit-trust, the machine's and the newest (as root)
	WINDLASS_PKCS11_LIBRARY=$(abspath $(TOKEN)) \
	P11_KIT_TRUST=$(abspath $(or $(WINDLASS_TEST_TARGET),target)/pkcs11/p11-kit-trust.so) \
	    $(CARGO) test --release -p windlass-pkcs11 --test as_p11_kit --test combinations --test reader_mutation
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/pkcs11/run.sh

test-certdata: build ## Mozilla's certdata.txt, from Debian's sources, read by the token and by another reader
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/certdata/run.sh

test-trace: build ## `windlass trace` on real programs, its findings against strace, its page in Chromium
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/trace/run.sh

test-trace-library: build openssl gnutls
test-trace-library: ## what the trace library records, against callgrind's counts; that no program notices it (as root)
	$(PYTHON) tests/trace/library.py --library $(CARGO_TARGET_DIR)/release/libwindlass_trace.so

test-top: build ## what windlass top counts, against strace; its terminal; without root
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/top/run.sh

test-doctor: build ## what windlass doctor finds, and what OpenSSL makes of the same files
	WINDLASS=$(CARGO_TARGET_DIR)/release/windlass WINDLASS_PKCS11_LIBRARY=$(abspath $(TOKEN)) tests/doctor/run.sh

test-kubernetes-manifests: ## deploy/kubernetes without a cluster: made, valid, and as the next target has seen it
	$(PYTHON) tests/kubernetes/manifests.py

# Not in `make test`: it builds an API server from Go modules, once (six minutes of CPU).
test-kubernetes: build ## deploy/kubernetes on a real API server: admission, freshness, the agent, scale (as root)
	tests/setup.sh tests/kubernetes/suite-packages.txt
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/kubernetes/build.sh
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) WINDLASS_BLESS=$(WINDLASS_BLESS) tests/kubernetes/run.sh

test-packaging: build ## the Debian package and `windlass install` in a minimal system, and piuparts
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/packaging/run.sh
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/packaging/piuparts.sh

python-module: ## the module _ssl of this machine's Python with OpenSSL linked in, under target/pythons
	tests/python/build.sh

test-python: build python-module ## the Python packages, attached in a running Python; PYTHONS names other interpreters
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/python/run.sh $(addprefix --python ,$(PYTHONS))

pythons: build ## the same and CPython's own tests in the Pythons of Debian 11 to 14, free-threaded, static (as root)
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/python/pythons.sh $(SYSTEMS)

test-ruby: build ## the Ruby gem, attached in a running Ruby; RUBIES names other interpreters
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/ruby/run.sh $(addprefix --ruby ,$(RUBIES))

wheel: build ## target/wheels/windlass-*.whl and windlass_auto-*.whl
	/usr/bin/python3 -B python/build.py $(LIBRARY) $(CARGO_TARGET_DIR)/wheels

gem: build ## target/gems/windlass-*.gem
	/usr/bin/ruby ruby/build.rb $(LIBRARY) $(CARGO_TARGET_DIR)/gems

layer: wheel ## target/layers/windlass-layer.zip for AWS Lambda (ROOT=DIR names the function's unpacked image)
	/usr/bin/python3 -B python/layer.py $(CARGO_TARGET_DIR)/release/windlass $(CARGO_TARGET_DIR)/wheels \
	    $(CARGO_TARGET_DIR)/layers/windlass-layer.zip $(if $(ROOT),--root $(ROOT)) $(SOURCES)

test-c: build openssl ## the C library: headers, examples, fork, threads, memory, verdicts against stock
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/c/run.sh

PREFIX = /usr/local
LIBDIR = $(PREFIX)/lib
install-c: build ## libwindlass.so, its headers and pkg-config file below PREFIX (/usr/local), LIBDIR and DESTDIR
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) DESTDIR='$(DESTDIR)' packaging/c/install.sh '$(PREFIX)' '$(LIBDIR)'

deb: build ## target/debian/windlass_VERSION_ARCHITECTURE.deb
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) packaging/debian/build.sh

test-installed: build build-sabotage openssl
test-installed: ## a sample of `make installed` (as root)
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/stores.sh with $(PROCESS) --only threads,pinned,shared
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/stores.sh with tests/top/run.sh

installed: build build-sabotage openssl gnutls python-module
installed: ## some suites where /var/cache/windlass has compiled stores, as where Windlass is installed (as root)
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/stores.sh with $(MAKE) $(addprefix -o ,build build-sabotage openssl \
	    gnutls python-module) test-guest test-top test-e2e test-python
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/stores.sh with $(PROCESS) --only threads,fork,pinned,shared

test-packaging-broken: build ## packages that are broken on purpose must be noticed
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) tests/packaging/run.sh --prove

test-matrix: build openssl ## the differential tests with every mode of every case, and their self-check (SAMPLE=4)
	$(PYTHON) tests/differential/run.py --stock $(addprefix --sample ,$(SAMPLE))
	$(DIFFERENTIAL) --all-modes $(addprefix --sample ,$(SAMPLE))
	$(DIFFERENTIAL) $(COMPILED) $(addprefix --sample ,$(SAMPLE))

soak: build build-sabotage openssl ## the process tests with forty times the rounds; all mixtures of four calls
	$(PROCESS) --only threads,fork,pinned,shared --rounds 40
	$(PROCESS) --only mixture --rounds 2

fuzz: build openssl ## mutated sources until ten thousand agree (SEED=1 ROUNDS=10)
	$(PYTHON) tests/differential/fuzz.py --library $(LIBRARY) --seed $(or $(SEED),1) --rounds $(or $(ROUNDS),10)

fuzz-store: ## fuzzes the reader and the writer of compiled stores (SECONDS=600)
	CARGO='$(CARGO)' fuzz/run.sh $(or $(SECONDS),600)

asan: build openssl ## every differential script with an AddressSanitizer driver
	$(MEMORY) asan --library $(LIBRARY) --all

valgrind: build openssl ## the memory tests' whole subset under valgrind, on every OpenSSL
	$(MEMORY) valgrind --library $(LIBRARY) --builds system,1.1.1w,3.5.5,4.0.3
