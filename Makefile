# SPDX-License-Identifier: LGPL-3.0-or-later
# attest: see README.md. `make deps certify` on a fresh machine; `make deps check` runs the tests.
BUILD ?= build
ROOMS ?= $(notdir $(patsubst %/,%,$(wildcard src/*/)))
CC ?= gcc

# Debian 12: FLINT 2.9 with Arb apart; Debian 13: FLINT 3 with Arb inside.
ARB_LIBS = $(if $(wildcard /usr/include/flint/arb.h),,-lflint-arb)
WARN = -Wall -Wextra -Wpedantic -Werror
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE $(WARN) $(CFLAGS) -ffp-contract=off -fno-math-errno -fopenmp $(SANFLAGS)
LDLIBS = $(ARB_LIBS) -lflint -lmpfr -lgmp -ljansson -lnettle -lm
ifdef SAN
SANFLAGS = -fsanitize=address,undefined -fno-omit-frame-pointer
endif

# Compiled once for each instruction set; the functions carry its name as suffix (see tensor/isa.h).
ISA_SOURCES = $(wildcard src/*/*_isa.c)
ISAS = baseline $(if $(filter x86_64,$(shell uname -m)),avx2 avx512)
isa_avx2 = -mavx2 -mfma -mf16c
isa_avx512 = -mavx2 -mfma -mf16c -mavx512f -mavx512vl -mavx512dq -mavx512bw -mprefer-vector-width=512

LIB_SOURCES = $(filter-out $(ISA_SOURCES),$(foreach r,$(filter-out verbs,$(ROOMS)),$(wildcard src/$(r)/*.c)))
CMD_SOURCES = src/main.c $(wildcard src/verbs/*.c)
TEST_SOURCES = tests/runner.c $(foreach r,$(ROOMS),$(wildcard tests/$(r)/test_*.c))
obj = $(patsubst %.c,$(BUILD)/%.o,$(1))
isa_obj = $(foreach i,$(ISAS),$(patsubst %.c,$(BUILD)/%.$(i).o,$(foreach r,$(ROOMS),$(filter src/$(r)/%,$(ISA_SOURCES)))))

all: $(BUILD)/attest

$(BUILD)/libattest.a: $(call obj,$(LIB_SOURCES)) $(isa_obj)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/attest: $(call obj,$(CMD_SOURCES)) $(BUILD)/libattest.a
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(LDLIBS)

define isa_rule
$(BUILD)/%.$(1).o: %.c
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) $$(isa_$(1)) -DATTEST_ISA=$(1) -MMD -MP -c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(eval $(call isa_rule,$(i))))

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/suites.h: $(TEST_SOURCES)
	@mkdir -p $(@D)
	@for f in $(filter-out tests/runner.c,$(TEST_SOURCES)); do \
	  b=$${f##*/test_}; echo "TEST($${b%.c})"; done > $@.tmp
	@cmp -s $@.tmp $@ && touch $@ || mv $@.tmp $@

$(BUILD)/tests/runner.o: ALL_CFLAGS += -I$(BUILD)/tests
$(BUILD)/tests/runner.o: $(BUILD)/tests/suites.h

$(BUILD)/run-tests: $(call obj,$(TEST_SOURCES)) $(BUILD)/libattest.a
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(LDLIBS) -lcheck -lsubunit -lrt -lpthread

unit: $(BUILD)/run-tests
	$(BUILD)/run-tests

.PHONY: all unit
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
