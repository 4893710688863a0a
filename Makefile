# Every command of the project. `make help` lists them.
#
#   MODE=release  -O2, hardened: what users run   (the default)
#   MODE=debug    -O1 -g, asserts on
#   MODE=asan     debug + address and undefined-behaviour sanitizers
#   MODE=tsan     debug + thread sanitizer
#
# build/cloche               the program, with what it needs beside it:
#   build/lib  build/guest   libwasmtime, libcloche; the baked guests
# build/MODE                 objects, tests and the program of that MODE
# build/deps                 links to what deps/fetch brought into the cache
VERSION := 0.1.0
MODE    ?= release
OUT     := build/$(MODE)
CC      := gcc
DEPS    := build/deps
WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
        -Wvla -Wundef -Werror
ifndef HOME # some runners have none
export HOME := $(shell getent passwd $$(id -u) | cut -d: -f6)
endif
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/cloche-build
export ZIG_GLOBAL_CACHE_DIR := $(CACHE)/zig
export ZIG_LOCAL_CACHE_DIR := $(CACHE)/zig

.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
.PHONY: all program manual python ready vm-native vm-init conformance guests tools checker vm library install unit asan tsan tests check deep rooms reference reference-check \
        format format-check tidy bench benches \
        fuzz fuzzed tests-and-fuzzed deps help clean
again = @$(MAKE) --no-print-directory

all: program guests ready library vm-native vm-init  ## the program, its guests and the library, ready in build/

# A toolchain each, with its lists, flags and targets. What it compiles hangs on its file
# and on this one.
include $(foreach f,host guests python tools machine checks,mk/$f.mk)

deps:                     ## fetch everything that building and checking need
	@deps/fetch build test
help:                     ## this list
	@sed -nE -e 's/^([a-z-]+):.*  *## (.*)/  \1\t\2/p' -e 's/^#   (MODE=[a-z]+) +/  \1\t/p' \
	    $(filter-out %.d,$(MAKEFILE_LIST)) | expand -t 18
clean:                    ## forget every build (the cache stays)
	rm -rf build

# --- what was fetched -----------------------------------------------------------------
$(DEPS)/build.ok: deps/fetch deps/npm-build/package-lock.json deps/npm-web/package-lock.json deps/python-build.txt deps/python-sources.txt deps/debian-sources.txt \
                  deps/rust/Cargo.lock deps/python-go.txt guest/typescript/go.mod guest/typescript/go.sum
	@deps/fetch build && touch $@
$(DEPS)/tools.ok: $(DEPS)/build.ok deps/debian deps/debian-sources.txt deps/npm-tools/package-lock.json \
                  $(wildcard guest/tools/*/go.mod guest/tools/*/go.sum)
	@deps/fetch tools && touch $@
$(DEPS)/vm.ok: $(DEPS)/build.ok deps/debian $(foreach d,kernel root,deps/debian-$d.in deps/debian-$d.txt)
	@deps/fetch vm
$(DEPS)/checker.ok: $(DEPS)/build.ok guest/checker/go.mod guest/checker/go.sum
	@deps/fetch checker && touch $@
$(DEPS)/test.ok: deps/fetch deps/python-test.txt deps/python-clients.txt deps/npm-test/package-lock.json deps/npm-rest/package-lock.json \
                 deps/python-suites.txt deps/python-runners.txt deps/python-backends.txt \
                 deps/debian deps/debian-references.txt deps/debian-machine.in deps/debian-machine.txt
	@deps/fetch test && touch $@
$(DEPS)/bench.ok: deps/fetch deps/python-test.txt deps/npm-bench/package-lock.json deps/debian deps/debian-bench.in
	@deps/fetch bench && touch $@
build/lib/_libwasmtime.so: $(DEPS)/build.ok
	@mkdir -p $(@D)
	@cp -f $(DEPS)/wasmtime/lib/_libwasmtime.so $@ && touch $@
