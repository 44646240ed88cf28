# SPDX-License-Identifier: LGPL-3.0-or-later
# attest: see README.md. `make deps certify` on a fresh machine; `make help` lists the rest.
ifeq ($(origin CC),default)
CC = gcc
endif
PREFIX ?= /usr/local
BUILD ?= $(if $(SAN),build-san,build)
ALL_ROOMS = $(notdir $(patsubst %/,%,$(wildcard src/*/)))
ROOMS ?= $(ALL_ROOMS)

# ---- packages --------------------------------------------------------------------------------
PACKAGES = gcc libc6-dev libflint-dev libmpfr-dev libgmp-dev libfftw3-dev libjansson-dev libyaml-dev libzip-dev \
  nettle-dev libsqlite3-dev check pkg-config python3-numpy python3-mpmath python3-jsonschema
PACKAGES_CLANG = clang libomp-dev
PACKAGES_PEERS = python3-torch libopenblas0-pthread
PACKAGES_AUDIT = clang clang-tidy libomp-dev cppcheck valgrind gcovr
PACKAGES_PROOFS = coq libcoq-coquelicot libcoq-flocq libcoq-interval libcoq-gappa gappa \
  libcoq-mathcomp-ssreflect libcoq-mathcomp-algebra python3

# Goals that must be over before anything is compiled: `make -j2 deps check`.
FIRST = $(filter deps deps-audit deps-clang deps-peers deps-proofs,$(MAKECMDGOALS))
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
# All processors where make was not told how many; several goals that run something keep out of each
# other's way.
ifeq ($(MAKELEVEL)$(word 2,$(filter-out $(FIRST) all $(BUILD)/%,$(MAKECMDGOALS))),0)
MAKEFLAGS += -j$(shell nproc)
endif

# ---- flags -----------------------------------------------------------------------------------
# GCC takes x and fmpq_numref(x) for one object, of the size of the latter: false alarms.
WARN = -Wall -Wextra -Wpedantic -Werror \
  $(if $(findstring clang,$(CC)),,-Wno-stringop-overread -Wno-stringop-overflow)
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE $(WARN) $(CPPFLAGS) $(CFLAGS) -ffp-contract=off \
  -fno-math-errno -fopenmp $(SAN_CFLAGS)
ifneq ($(SAN),)
SAN_CFLAGS = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
export ASAN_OPTIONS ?= detect_leaks=1:abort_on_error=1:strict_string_checks=1
export UBSAN_OPTIONS ?= print_stacktrace=1:abort_on_error=1
export CK_TIMEOUT_MULTIPLIER ?= 20
export ATTEST_TRIALS ?= 0.25
endif

# These ask the compiler, so they stay unexpanded until a recipe runs, after `deps`.
# FLINT 2 (Debian 12) leaves Arb to a library of its own; FLINT 3 (Debian 13) has it inside.
HASH := \#
preprocesses = $(CC) $(CPPFLAGS) $(CFLAGS) -fopenmp -E -x c - >/dev/null 2>&1
ARB_LIBS = $(shell echo '$(HASH)include <flint/arb.h>' | $(preprocesses) || echo -lflint-arb)
LDLIBS = $(ARB_LIBS) -lflint -lmpfr -lgmp -lfftw3 -lfftw3f -ljansson -lyaml -lzip -lnettle -lsqlite3 -lm
CHECK_LIBS = $(shell pkg-config --libs check)
LINK = $(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^)

# A busy machine may take its time.
export CK_DEFAULT_TIMEOUT ?= 60

# ---- sources ---------------------------------------------------------------------------------
# Files *_isa.c are compiled once for each instruction set; their functions carry its name as
# suffix (see tensor/isa.h).
ISA_SOURCES = $(wildcard src/*/*_isa.c)
ISAS = baseline $(if $(filter x86_64,$(shell uname -m)),avx2 avx512)
# The compiler vectorises the loops over components that are written in plain C; with checks in every
# line of them that takes minutes.
ISA_OPTIMISE = $(if $(SAN_CFLAGS),-O1,-O3)
isa_baseline = $(ISA_OPTIMISE)
isa_avx2 = $(isa_baseline) -mavx2 -mfma -mf16c
isa_avx512 = $(isa_avx2) -mavx512f -mavx512vl -mavx512dq -mavx512bw -mprefer-vector-width=512

LIB_SOURCES = $(filter-out $(ISA_SOURCES) $(MUTANTS_MAIN),\
  $(foreach r,$(filter-out verbs,$(ALL_ROOMS)),$(wildcard src/$(r)/*.c)))
CMD_SOURCES = src/main.c $(wildcard src/verbs/*.c)
TEST_SOURCES = tests/runner.c $(foreach r,$(ROOMS),$(wildcard tests/$(r)/test_*.c))
TEST_SUPPORT = $(foreach r,$(ALL_ROOMS),$(wildcard tests/$(r)/fixture*.c))
FORMATTED = $(wildcard src/*.[ch] src/*/*.[ch] tests/*.[ch] tests/*/*.[ch] data/examples/*.c)

obj = $(patsubst %.c,$(BUILD)/%.o,$(1))
isa_obj = $(foreach i,$(ISAS),$(patsubst %.c,$(BUILD)/%.$(i).o,$(ISA_SOURCES)))
LIB_OBJECTS = $(call obj,$(LIB_SOURCES)) $(isa_obj)

# The mutants of `attest selftest`: sources that mutants.txt changes are compiled once more, changed
# (mutate.awk), beside links to all others, and joined with the library's other objects into one
# object that shows a single symbol (mutants.h). The library itself holds none of it.
MUTANTS = $(BUILD)/mutants
MUTANTS_OBJECT = $(MUTANTS)/mutants.o
MUTANTS_MAIN = src/certify/mutants.c
MUTANTS_TABLE = src/certify/mutants.txt
MUTATED := $(sort $(shell sed -n 's/^file //p' $(MUTANTS_TABLE)))
MUTATED_UNITS := $(sort $(filter %.c,$(MUTATED)) $(shell sed -n 's/^unit [^ ]* //p' $(MUTANTS_TABLE)))
mutated_stem = $(filter $(patsubst %.c,$(BUILD)/src/%.o,$(MUTATED_UNITS)) \
  $(foreach i,$(ISAS),$(patsubst %.c,$(BUILD)/src/%.$(i).o,$(MUTATED_UNITS))),$(1))
MUTANT_OBJECTS = $(patsubst $(BUILD)/src/%,$(MUTANTS)/src/%,$(call mutated_stem,$(LIB_OBJECTS))) \
  $(filter-out $(call mutated_stem,$(LIB_OBJECTS)),$(LIB_OBJECTS))

# ---- goals -----------------------------------------------------------------------------------
.PHONY: all deps deps-audit deps-clang deps-peers deps-proofs certify check unit command bench bench-profile install uninstall
.PHONY: proofs proofs-coqchk
.PHONY: lint fuzz-minute faults oracles sanitizers threads memcheck coverage proofs-clean selftest audit
.PHONY: fuzz format format-check clean help FORCE
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

all: $(BUILD)/attest ## build the command, build/attest (the default)

deps: ## install the packages that building and testing need (apt-get, sudo when not root)
	@.ci/deps $(PACKAGES)

deps-clang: ## install clang and its OpenMP, for CC=clang
	@.ci/deps $(PACKAGES_CLANG)

deps-audit: ## install what `make audit` needs beside them: clang and its tools, cppcheck, valgrind, gcovr
	@.ci/deps $(PACKAGES_AUDIT)

deps-peers: ## install PyTorch and a fast BLAS (600 MB), which `make bench` compares with where present
	@.ci/deps $(PACKAGES_PEERS)

deps-proofs: ## install the proof assistant and its libraries (Coq, 1.2 GB)
	@.ci/deps $(PACKAGES_PROOFS)

certify: $(BUILD)/attest ## certify the built-in kernels on the tensors of data/
	$(BUILD)/attest certify --builtin

check: $(BUILD)/run-tests $(BUILD)/attest ## run all tests (SAN=1: under sanitizers)
	@status=0; tests/unit $(BUILD)/run-tests || status=1; \
	  tests/command/run $(BUILD)/attest || status=1; exit $$status

unit: $(BUILD)/run-tests ## run the unit tests (ROOMS="tensor problem": of these rooms only)
	@tests/unit $(BUILD)/run-tests

command: $(BUILD)/attest ## run the tests of the command
	@tests/command/run $(BUILD)/attest

bench: $(BUILD)/attest ## measure speed beside the machine's peak and, where installed, PyTorch and mpmath
	@tests/bench/peers.py $(BUILD)/attest

bench-profile: $(BUILD)/attest ## instructions, cache misses and cycles of the goals of speed, by valgrind
	@tests/bench/profile.py $(BUILD)/attest

# All processors where make was not told how many.
PROOFS = $(MAKE) --no-print-directory -f proofs/Makefile OUT=$(BUILD)/proofs \
  $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

proofs: | $(FIRST) ## check all proofs with Coq, and print the theorems
	+@$(PROOFS) check

proofs-coqchk: | $(FIRST) ## have Coq's independent checker read what was proved
	+@$(PROOFS) coqchk

# ---- compiling -------------------------------------------------------------------------------
# V=1 prints whole commands.
quiet = $(if $(V),,@printf '  %-4s %s\n' $(1) '$(2)'; )

# The recipe of a file that is touched only when its text changes. "+": also under make -n, else
# all that depends on it would look out of date there.
if_changed = +@mkdir -p $(@D); printf '%s\n' $(1) | cmp -s - $@ || printf '%s\n' $(1) >$@

# Rebuilds all when the compiler or its flags change, and speaks up early when one is missing.
$(BUILD)/flags: FORCE | $(FIRST)
	+@command -v $(firstword $(CC)) >/dev/null || \
	  { echo "$(CC) is missing: run \`make deps$(if $(findstring clang,$(CC)),-clang)\`" >&2; exit 1; }
	$(call if_changed,'$(CC) $(ALL_CFLAGS)$(foreach i,$(ISAS), $(isa_$(i)))' "$$($(CC) --version | head -n 1)")

$(BUILD)/headers: $(BUILD)/flags
	@echo '#include <omp.h>' | $(preprocesses) || \
	  { echo "$(CC) finds no omp.h: run \`make deps$(if $(findstring clang,$(CC)),-clang)\`" >&2; exit 1; }
	@for header in flint/flint.h mpfr.h gmp.h fftw3.h jansson.h yaml.h zip.h nettle/sha2.h sqlite3.h; do \
	  echo "#include <stdio.h>"; echo "#include <$$header>"; done | $(preprocesses) || \
	  { echo "headers of FLINT, MPFR, GMP, FFTW, Jansson, libyaml, libzip, Nettle or SQLite are missing: run \`make deps\`" >&2; exit 1; }
	@touch $@

# $(call compile,ISA,SOURCE,FLAGS): ISA is empty for ordinary sources, SOURCE where it is the first
# prerequisite.
define compile
	@mkdir -p $(@D)
	$(call quiet,CC,$(or $(2),$<) $(1))$(CC) $(ALL_CFLAGS) \
	  $(if $(1),$(isa_$(1)) -DATTEST_ISA=$(1)) $(3) -MMD -MP -c -o $@ $(or $(2),$<)
endef

define isa_rule
$(BUILD)/src/%.$(1).o: src/%.c $(BUILD)/headers
	$$(call compile,$(1))
endef
$(foreach i,$(ISAS),$(eval $(call isa_rule,$(i))))

$(BUILD)/%.o: %.c $(BUILD)/headers
	$(call compile)

# A source that goes must leave the archive too.
$(BUILD)/objects: FORCE
	$(call if_changed,'$(LIB_OBJECTS)')

$(BUILD)/libattest.a: $(LIB_OBJECTS) $(BUILD)/objects
	@rm -f $@
	$(call quiet,AR,$@)ar rcs $@ $(LIB_OBJECTS)

# Links to all sources; the changed ones replace theirs when their text changes.
$(MUTANTS)/tree: FORCE
	+@mkdir -p $(@D); files='$(wildcard src/*.h src/*/*.[ch])'; \
	  printf '%s\n' "$$files" | cmp -s - $@ || { rm -rf $(MUTANTS)/src && cp -rs $(CURDIR)/src $(MUTANTS)/ && \
	  printf '%s\n' "$$files" >$@; }

$(MUTANTS)/changed: $(MUTANTS_TABLE) src/certify/mutate.awk $(addprefix src/,$(MUTATED)) $(MUTANTS)/tree
	@rm -rf $(MUTANTS)/new
	@mkdir -p $(MUTANTS)/new
	@awk -v out=$(MUTANTS) -f src/certify/mutate.awk $(MUTANTS_TABLE)
	@cd $(MUTANTS)/new && for f in list.h $(addprefix src/,$(MUTATED)); do \
	  cmp -s $$f ../$$f && [ ! -L ../$$f ] || mv -f $$f ../$$f || exit 1; done
	@touch $@

$(MUTANTS)/src/%.o: $(MUTANTS)/changed $(BUILD)/headers
	$(call compile,,$(MUTANTS)/src/$*.c,-w -include src/certify/mutation.h)

define mutated_isa_rule
$(MUTANTS)/src/%.$(1).o: $(MUTANTS)/changed $(BUILD)/headers
	$$(call compile,$(1),$(MUTANTS)/src/$$*.c,-w -include src/certify/mutation.h)
endef
$(foreach i,$(ISAS),$(eval $(call mutated_isa_rule,$(i))))

$(call obj,$(MUTANTS_MAIN)): $(MUTANTS)/changed $(BUILD)/headers
	$(call compile,,$(MUTANTS_MAIN),-I$(MUTANTS))

$(MUTANTS)/mutants.o: $(MUTANT_OBJECTS) $(call obj,$(MUTANTS_MAIN)) $(BUILD)/objects
	$(call quiet,LINK,$@)ld -r -o $@.all $(filter %.o,$^) && \
	  objcopy --keep-global-symbol=certify_mutants --strip-debug $@.all $@ && rm $@.all

$(BUILD)/attest: $(call obj,$(CMD_SOURCES)) $(MUTANTS_OBJECT) $(BUILD)/libattest.a
	$(call quiet,LINK,$@)$(LINK) $(LDLIBS)

test_name = $(patsubst test_%,%,$(basename $(notdir $(1))))
$(BUILD)/tests/suites.h: FORCE
	$(call if_changed,$(foreach f,$(filter-out tests/runner.c,$(TEST_SOURCES)),'TEST($(call test_name,$(f)))'))

$(BUILD)/tests/runner.o: private ALL_CFLAGS += -I$(BUILD)/tests
$(BUILD)/tests/runner.o: $(BUILD)/tests/suites.h

$(BUILD)/run-tests: $(call obj,$(TEST_SOURCES) $(TEST_SUPPORT)) $(BUILD)/libattest.a
	$(call quiet,LINK,$@)$(LINK) $(LDLIBS) $(CHECK_LIBS)

-include $(patsubst %.o,%.d,$(LIB_OBJECTS) $(MUTANT_OBJECTS) $(call obj,$(MUTANTS_MAIN)) \
  $(call obj,$(CMD_SOURCES) $(TEST_SOURCES) $(TEST_SUPPORT)))

# ---- fuzzing ---------------------------------------------------------------------------------
# libFuzzer comes with clang. It begins with tests/fuzz/corpus; what it finds stays in $(FUZZ).
FUZZ = build-fuzz
SECONDS ?= 600
FORMATS ?= npy npz safetensors yaml json words
FUZZ_TARGETS = $(addprefix $(FUZZ)/fuzz_,tensor text words)
# No kernel parses anything: one instruction set is enough, without checks.
FUZZ_BUILD = $(MAKE) --no-print-directory CC=clang BUILD=$(FUZZ) ISAS=baseline CPPFLAGS='$(CPPFLAGS) -DATTEST_BASELINE' \
  ISA_OPTIMISE='-O1 -fno-sanitize=all' \
  CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all'

fuzz: ## fuzz the parsers under sanitizers (FORMATS="npy npz safetensors yaml json words", SECONDS=600 each)
	+@$(FUZZ_BUILD) $(FUZZ_TARGETS)
	@tests/fuzz/run $(FUZZ) $(SECONDS) $(FORMATS)

fuzz-minute: ## fuzz every parser for a minute
	@$(MAKE) --no-print-directory fuzz SECONDS=60

$(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c $(BUILD)/libattest.a
	$(call quiet,LINK,$@)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

# ---- installing ------------------------------------------------------------------------------
VERSION = $(shell sed -n 's/.*ATTEST_VERSION "\(.*\)"/\1/p' src/attest.h)
DEST = $(DESTDIR)$(PREFIX)
INSTALLED = bin/attest lib/libattest.a lib/pkgconfig/attest.pc include/attest.h \
  share/man/man1/attest.1 share/attest

install: $(BUILD)/attest ## install below PREFIX (/usr/local): command, library, header, data, manual
	install -D -m 755 $(BUILD)/attest $(DEST)/bin/attest
	install -D -m 644 $(BUILD)/libattest.a $(DEST)/lib/libattest.a
	install -D -m 644 src/attest.h $(DEST)/include/attest.h
	install -D -m 644 src/verbs/attest.1 $(DEST)/share/man/man1/attest.1
	@mkdir -p $(DEST)/lib/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(LDLIBS)|' \
	  src/attest.pc.in >$(DEST)/lib/pkgconfig/attest.pc
	@for f in $$(find data -type f); do install -D -m 644 $$f $(DEST)/share/attest/$$f || exit 1; done
	@echo "installed attest $(VERSION) below $(DEST)"

uninstall: ## remove what install put there
	cd $(DEST) && rm -rf $(INSTALLED)

# ---- auditing --------------------------------------------------------------------------------
# What takes longer than `make check` should: each goal by itself, all of them by `make audit`.
JOBS ?= $(shell nproc)
TIDY_SOURCES = $(filter-out %_isa.c $(MUTANTS_MAIN),$(wildcard src/*.c src/*/*.c))
CHECKER_FLAGS = -std=c11 -D_GNU_SOURCE -fopenmp

lint: ## clang-tidy and cppcheck, with .clang-tidy and .cppcheck
	@echo "clang-tidy: $(words $(TIDY_SOURCES) $(ISA_SOURCES)) sources"
	@printf '%s\n' $(TIDY_SOURCES) | xargs -n 8 -P $(JOBS) sh -c 'clang-tidy -quiet "$$@" -- $(CHECKER_FLAGS) 2>/dev/null' -
	@printf '%s\n' $(ISA_SOURCES) | xargs -n 8 -P $(JOBS) sh -c 'clang-tidy -quiet "$$@" -- $(CHECKER_FLAGS) -DATTEST_ISA=baseline 2>/dev/null' -
	@echo "cppcheck"
	@cppcheck --std=c11 --enable=warning,portability,performance --suppressions-list=.cppcheck --inline-suppr \
	  -D_GNU_SOURCE -DATTEST_ISA=baseline -q -j $(JOBS) --error-exitcode=1 src
	@echo "lint: $(words $(TIDY_SOURCES) $(ISA_SOURCES)) sources, findings 0"

faults: $(BUILD)/attest ## kill -9 at 100 random moments each of check, certify, reference and sweep, and other faults
	@ATTEST_FAULTS=100 TEST_TIMEOUT=1800 tests/command/run $(BUILD)/attest tests/command/faults.py

oracles: $(BUILD)/run-tests ## Arb, MPFR, rationals, double-double and double on the same rows; radii attacked by search
	@tests/audit/oracles $(BUILD)/run-tests $(ELEMENTS)

# The thread sanitizer and OpenMP get on in clang, with Archer.
THREADS = build-threads
threads: ## the parallel regions under the thread sanitizer
	@$(MAKE) --no-print-directory CC=clang BUILD=$(THREADS) CFLAGS='-O1 -g' SAN_CFLAGS=-fsanitize=thread \
	  $(THREADS)/attest
	@tests/audit/threads $(THREADS)/attest

sanitizers: ## the unit tests under the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory SAN=1 unit

memcheck: $(BUILD)/run-tests ## the tests of the ball and exact tiers under valgrind
	@tests/audit/valgrind $(BUILD)/run-tests

# Lines of mutants are not counted: they are those of the ordinary build.
COVERAGE = build-coverage
COVERAGE_BUILD = $(MAKE) --no-print-directory BUILD=$(COVERAGE) MUTANTS_OBJECT=$(MUTANTS_OBJECT) ISA_OPTIMISE=-O1 \
  CFLAGS='-O1 -g --coverage -fprofile-update=single'
coverage: $(MUTANTS_OBJECT) ## run all tests with counts, print the share of lines that they reach in each folder of src/
	+@$(COVERAGE_BUILD) $(COVERAGE)/attest $(COVERAGE)/run-tests
	@find $(COVERAGE) -name '*.gcda' -delete
	+@ATTEST_TRIALS=$${ATTEST_TRIALS:-0.25} $(COVERAGE_BUILD) check || \
	  echo "coverage: a test failed in this build, which counts lines all the same; see make check"
	@tests/audit/coverage $(COVERAGE)

proofs-clean: ## check all proofs anew, and that every change of C in proofs/mutants.py breaks them
	@rm -rf $(BUILD)/proofs
	@$(MAKE) --no-print-directory proofs PROOF_MUTANTS=all

selftest: $(BUILD)/attest ## the certifier on trial: mutants
	@$(BUILD)/attest selftest

GOALS ?= selftest oracles faults lint fuzz-minute sanitizers threads memcheck coverage proofs-clean
audit: $(BUILD)/attest $(BUILD)/run-tests ## the goals in the table at the end of "Trust" in README.md, each timed, with a line of summary (GOALS="oracles faults": only some)
	@tests/audit/run $(BUILD)/audit $(GOALS)

# ---- housekeeping ----------------------------------------------------------------------------
format: ## lay the sources out with clang-format
	@clang-format -i $(FORMATTED)

format-check: ## fail when a source is not laid out as clang-format would
	@clang-format --dry-run --Werror $(FORMATTED)

clean: ## remove all that was built
	rm -rf build build-san build-fuzz build-threads build-coverage $(BUILD)

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22
