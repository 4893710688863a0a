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

# --- how the host program is compiled -------------------------------------------------
WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
        -Wvla -Wundef -Werror
LIBS := libmicrohttpd gnutls sqlite3 yaml-0.1 libpcre2-8 libsodium libzip
FLAGS_release := -O2 -g -DNDEBUG -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIC
FLAGS_debug   := -O1 -g
FLAGS_asan    := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined \
                 -fno-sanitize-recover=undefined
FLAGS_tsan    := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
# For fuzz/ alone, with CC=clang.
FLAGS_libfuzzer := -O1 -g -w -DLIBFUZZER -D__SANITIZE_ADDRESS__ \
                   -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
LDFLAGS_libfuzzer := -fsanitize=fuzzer
CPPFLAGS := -D_GNU_SOURCE -DCLOCHE_VERSION='"$(VERSION)"' -Isrc -Iguest -Iinclude \
            -isystem $(DEPS)/wasmtime/include -isystem $(DEPS)/yyjson
CFLAGS   := -std=gnu17 $(WARN) -pthread -fvisibility=hidden $(FLAGS_$(MODE))
# libwasmtime is found beside the program that runs, wherever build/ was moved.
LDFLAGS_release := -pie -Wl,-z,relro,-z,now
LDFLAGS := -Lbuild/lib -Wl,-rpath,'$$ORIGIN/lib:$$ORIGIN/../lib:$$ORIGIN/../lib/cloche' \
           $(LDFLAGS_$(MODE))
LDLIBS   = -l:_libwasmtime.so $(PKG_LIBS) -pthread -lm

# --- how the guests are compiled (clang 21 out of the pinned zig) ---------------------
ifndef HOME # some runners have none
export HOME := $(shell getent passwd $$(id -u) | cut -d: -f6)
endif
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/cloche-build
export ZIG_GLOBAL_CACHE_DIR := $(CACHE)/zig
export ZIG_LOCAL_CACHE_DIR := $(CACHE)/zig
ZIG := $(DEPS)/zig
# No bulk memory: guest/script/memory.c says why. The bake refuses a guest that has it.
GUEST_CC      := $(ZIG) cc -target wasm32-wasi -mcpu=generic+simd128-bulk_memory-bulk_memory_opt
# EMSCRIPTEN means to QuickJS: a switch instead of computed gotos, which Wasm has not and
# clang would turn into a slower switch (1.04 times the speed over bench/programs).
GUEST_CFLAGS  := -std=gnu23 -O3 -DNDEBUG -fno-sanitize=undefined -D_GNU_SOURCE \
                 -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_SIGNAL -DEMSCRIPTEN
GUEST_LDFLAGS := -mexec-model=reactor -lwasi-emulated-process-clocks \
                 -lwasi-emulated-signal -Wl,-z,stack-size=2097152 -Wl,--strip-debug \
                 -Wl,--export=__stack_pointer

# --- what there is --------------------------------------------------------------------
MAINS := $(wildcard src/*/*_main.c)
TESTS := $(wildcard src/*/*_test.c guest/vm/*_test.c)
SRC   := $(filter-out $(MAINS) $(TESTS),$(wildcard src/*/*.c))
OBJ   := $(SRC:%.c=$(OUT)/%.o) $(OUT)/yyjson.o
BENCH := $(wildcard bench/*.c)
FUZZ  := $(wildcard fuzz/*.c)
# The bake is made before any guest, from the lower rooms alone.
BAKE_OBJ   := $(foreach r,base os json crypto vfs engine wasi bake,$(filter $(OUT)/src/$r/%,$(OBJ))) \
              $(OUT)/yyjson.o
SCRIPT_SRC := $(wildcard guest/script/*.c)
SCRIPT_OBJ := $(SCRIPT_SRC:%.c=build/%.o) \
              $(patsubst %,build/guest/quickjs/%.o,own dtoa libregexp libunicode)
LINT_SRC   := $(wildcard guest/lint/*.c)
LINT_OBJ   := $(LINT_SRC:%.c=build/%.o) \
              $(patsubst %,build/guest/script/%.o,bytes heap memory number write) \
              $(filter build/guest/quickjs/%,$(SCRIPT_OBJ))
PATTERN_SRC := $(wildcard guest/pattern/*.c)
PATTERN_OBJ := $(PATTERN_SRC:%.c=build/%.o) build/guest/script/memory.o \
              $(patsubst %,build/guest/pcre2/%.o,auto_possess chartables chkdint compile compile_class context \
              error extuni find_bracket match match_data newline ord2utf script_run string_utils study tables \
              ucd valid_utf xclass)
# The machine: its core, which Wasm and this computer share, and what only the latter has.
VM_NATIVE  := $(foreach f,bare boot elf native outside,guest/vm/$f.c)
VM_TESTS   := $(wildcard guest/vm/*_test.c)
VM_CORE    := $(filter-out $(VM_NATIVE) $(VM_TESTS) guest/vm/wasm.c,$(wildcard guest/vm/*.c))
VM_OBJ     := $(VM_CORE:%.c=$(OUT)/%.o)
VM_WASM    := $(VM_CORE:%.c=build/%.o) build/guest/vm/wasm.o build/guest/script/memory.o
FORMATTED  := $(wildcard $(foreach d,src/* guest/* guest/vm/* bench fuzz,$d/*.c $d/*.h))

.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
.PHONY: all program vm-native vm-init conformance guests tools checker vm library install unit asan tsan tests check deep rooms reference reference-check \
        format format-check tidy bench benches \
        fuzz fuzzed deps help clean
again = @$(MAKE) --no-print-directory

all: program guests library vm-native vm-init  ## the program, its guests and the library, ready in build/
unit: guests checker      ## unit tests in debug
	$(again) MODE=debug tests
asan: guests checker      ## unit tests under the address and UB sanitizers
	$(again) MODE=asan tests
tsan: guests checker      ## unit tests under the thread sanitizer
	$(again) MODE=tsan tests
tests: $(TESTS:%.c=$(OUT)/%)  ## unit tests of this MODE
	@dev/unit $(OUT) $(TESTS:%.c=%)
fuzz:                     ## replay the fuzz corpora and mutations of them (fuzz/README.md)
	$(again) MODE=asan fuzzed
fuzzed: $(FUZZ:%.c=$(OUT)/%)
	@dev/unit $(OUT)/fuzz $(notdir $(FUZZ:.c=))
check:                    ## everything that a commit must pass (./check)
	@./check
deep: all tools $(DEPS)/test.ok ## crashes at many more moments, long fuzzing of messages, 1,000 damaged inputs a tool (hours)
	@CLOCHE_WASI=deep CLOCHE_DAMAGED=1000 $(DEPS)/venv-test/bin/python -m pytest -q \
	    test/test_wasi.py test/test_tool_hostile.py
	@CLOCHE_KILLS=3000 CLOCHE_MOMENTS=5000 $(DEPS)/venv-test/bin/python -m pytest -q \
	    test/test_crash.py test/test_power.py
	@CLOCHE_FUNCTION_ROUNDS=500 $(DEPS)/venv-test/bin/python -m pytest -q \
	    test/test_functions_stress.py
	@CLOCHE_PROGRAMS=deep CLOCHE_MACHINES=100 CLOCHE_STREAMS=20000 $(DEPS)/venv-test/bin/python -m \
	    pytest -q test/test_vm_programs.py test/test_machine_chance.py test/test_cpu.py
	$(again) MODE=asan program conformance build/asan/fuzz/message build/asan/fuzz/endpoint
	@CLOCHE_BIN=build/asan/cloche CLOCHE_CHAOS=100 $(DEPS)/venv-test/bin/python -m pytest -q \
	    test/test_chaos.py
	@build/asan/fuzz/message -n 1000000 -s $$$$ && build/asan/fuzz/endpoint -n 1000000 -s $$$$
rooms:                    ## includes go one way (src/rooms.txt)
	@dev/rooms
reference: program        ## write docs/api.md and docs/tool-table.md from what they are made of
	@build/cloche api --reference >docs/api.md.new && mv docs/api.md.new docs/api.md
	@dev/tool-table
reference-check: program  ## does docs/api.md say what the table says?
	@build/cloche api --reference | diff -u docs/api.md - || \
	    { echo "docs/api.md is stale: run 'make reference'"; exit 1; }
	@dev/tool-table --check
format: $(DEPS)/test.ok   ## lay out the code by .clang-format
	@$(DEPS)/venv-test/bin/clang-format -i $(FORMATTED)
format-check: $(DEPS)/test.ok  ## is it laid out so?
	@$(DEPS)/venv-test/bin/clang-format --dry-run -Werror $(FORMATTED)
tidy: $(SRC:%.c=$(OUT)/%.tidy)  ## clang-tidy on what changed since it last passed
bench: $(DEPS)/bench.ok   ## measure against the peers (bench/README.md); ONLY="fresh http"
	$(again) MODE=release all conformance benches
	@bench/run $(ONLY)
benches: $(BENCH:%.c=$(OUT)/%)
deps:                     ## fetch everything that building and checking need
	@deps/fetch build test
help:                     ## this list
	@sed -nE -e 's/^([a-z-]+):.*  *## (.*)/  \1\t\2/p' -e 's/^#   (MODE=[a-z]+) +/  \1\t/p' \
	    Makefile | expand -t 18
clean:                    ## forget every build (the cache stays)
	rm -rf build

# --- what was fetched -----------------------------------------------------------------
$(DEPS)/build.ok: deps/fetch deps/npm-build/package-lock.json deps/python-build.txt deps/python-sources.txt \
                  deps/rust/Cargo.lock deps/python-go.txt guest/typescript/go.mod guest/typescript/go.sum
	@deps/fetch build && touch $@
$(DEPS)/tools.ok: $(DEPS)/build.ok deps/debian deps/debian-sources.txt deps/npm-tools/package-lock.json \
                  $(wildcard guest/tools/*/go.mod guest/tools/*/go.sum)
	@deps/fetch tools && touch $@
$(DEPS)/vm.ok: $(DEPS)/build.ok deps/debian deps/debian-kernel.txt deps/debian-root.txt
	@deps/fetch vm
$(DEPS)/checker.ok: $(DEPS)/build.ok guest/checker/go.mod guest/checker/go.sum
	@deps/fetch checker && touch $@
$(DEPS)/test.ok: deps/fetch deps/python-test.txt deps/npm-test/package-lock.json deps/debian-machine.txt
	@deps/fetch test && touch $@
$(DEPS)/bench.ok: deps/fetch deps/python-test.txt deps/npm-bench/package-lock.json deps/debian-bench.txt
	@deps/fetch bench && touch $@
build/lib/_libwasmtime.so: $(DEPS)/build.ok
	@mkdir -p $(@D)
	@cp -f $(DEPS)/wasmtime/lib/_libwasmtime.so $@ && touch $@

# Asked once, and only when something is compiled.
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags $(LIBS)))$(PKG_CFLAGS)
PKG_LIBS   = $(eval PKG_LIBS := $$(shell pkg-config --libs $(LIBS)))$(PKG_LIBS)

# --- the host program -----------------------------------------------------------------
$(OUT)/%.o: %.c Makefile $(DEPS)/build.ok
	@mkdir -p $(@D)
	@echo "  cc    $(MODE) $<"
	@$(CC) $(CPPFLAGS) $(CFLAGS) $(PKG_CFLAGS) -MMD -MP -c $< -o $@

# Tests put functions of theirs in the place of the C library's.
$(TESTS:%.c=$(OUT)/%.o): CFLAGS += -fvisibility=default
$(OUT)/src/actions/calls_functions.o: src/actions/functions.js

# What it takes in by .incbin, of which the compiler tells nothing.
$(OUT)/src/actions/calls_fetch.o: src/actions/fetch.js
$(OUT)/src/actions/calls_fs.o: src/actions/fs.js
$(OUT)/src/catalogue/manifest.o: docs/tool-manifest.schema.json
$(OUT)/src/functions/templates.o: src/functions/templates.json
$(OUT)/src/desk/page.o: web/page.html web/page.css build/web/page.js

# Another's code: its warnings are not ours.
$(OUT)/yyjson.o: Makefile $(DEPS)/build.ok
	@mkdir -p $(@D)
	@echo "  cc    $(MODE) yyjson.c"
	@$(CC) -std=gnu17 -w $(FLAGS_$(MODE)) -c $(DEPS)/yyjson/yyjson.c -o $@

# From an archive, a test takes only what it calls.
$(OUT)/cloche.a: $(OBJ)
	@rm -f $@ && ar rcs $@ $^

link = @echo "  link  $@" && $(CC) $(CFLAGS) $(filter %.o %.a,$^) -o $@ $(LDFLAGS) $1 $(LDLIBS)
$(OUT)/cloche: $(OUT)/src/cli/cloche_main.o $(OUT)/cloche.a build/lib/_libwasmtime.so
	$(call link)
# The same with the fixtures of the conformance suite, which nothing else pulls in.
$(OUT)/cloche-conformance: $(OUT)/src/conformance/conformance_main.o $(OUT)/cloche.a build/lib/_libwasmtime.so
	$(call link)
$(OUT)/cloche-bake: $(OUT)/src/bake/bake_main.o $(BAKE_OBJ) build/lib/_libwasmtime.so
	$(call link)
# Begun for queries: with few libraries, so that it starts at once.
$(OUT)/cloche-sql: $(OUT)/src/sql/sql_main.o $(OUT)/cloche.a
	@echo "  link  $@"
	@$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS_$(MODE)) $(shell pkg-config --libs sqlite3) -pthread -lm
$(OUT)/cloche-vm-bake $(OUT)/cloche-vm-core: $(OUT)/cloche-vm-%: $(OUT)/src/vm/%_main.o \
        $(foreach r,base os json crypto engine vm,$(filter $(OUT)/src/$r/%,$(OBJ))) \
        $(OUT)/yyjson.o build/lib/_libwasmtime.so
	$(call link)
# Never shipped, and deep in build/: these know where the library is.
$(filter $(OUT)/src/%,$(TESTS:%.c=$(OUT)/%)): $(OUT)/%: $(OUT)/%.o $(OUT)/cloche.a build/lib/_libwasmtime.so
	$(call link,-Wl$(,)-rpath$(,)$(CURDIR)/build/lib -lcmocka)
$(OUT)/src/tools/tools_test $(OUT)/src/tools/arguments_test: | build/probe/tools/catalogue.json
$(OUT)/src/vm/machine_test: | build/probe/machine.Image
$(BENCH:%.c=$(OUT)/%) $(FUZZ:%.c=$(OUT)/%): \
        $(OUT)/%: $(OUT)/%.o $(OUT)/cloche.a build/lib/_libwasmtime.so
	$(call link,-Wl$(,)-rpath$(,)$(CURDIR)/build/lib)
, := ,

$(OUT)/%.tidy: %.c .clang-tidy $(OUT)/%.o $(DEPS)/test.ok
	@echo "  tidy  $<"
	@$(DEPS)/venv-test/bin/clang-tidy --quiet $< -- -std=gnu17 $(CPPFLAGS) $(PKG_CFLAGS)
	@touch $@

# --- the machine, as a program of this computer -----------------------------------------
# Its words are read and written as whatever they hold, and its floating point is held to
# the standard: no contraction, and square roots without errno are one instruction.
VM_FLAGS := -fno-strict-aliasing -fno-math-errno -ffp-contract=off
$(VM_OBJ) $(VM_NATIVE:%.c=$(OUT)/%.o) $(VM_TESTS:%.c=$(OUT)/%.o): CFLAGS += $(VM_FLAGS)
# Its headers are "vm/...", and so are those of the room src/vm, which it never sees.
$(VM_OBJ) $(VM_NATIVE:%.c=$(OUT)/%.o) $(VM_TESTS:%.c=$(OUT)/%.o): CPPFLAGS := -D_GNU_SOURCE -Iguest
$(OUT)/vm.a: $(VM_OBJ)
	@rm -f $@ && ar rcs $@ $^
$(OUT)/vm-native: $(VM_NATIVE:%.c=$(OUT)/%.o) $(OUT)/vm.a
	@echo "  link  $@"
	@$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS_$(MODE))
# Bare programs, that its tests run in it.
VM_BARE := $(foreach p,mmu traps devices hostile,build/guest/vm/test/$p.elf)
$(VM_BARE): build/%.elf: %.c $(wildcard guest/vm/test/*.h guest/vm/test/link.ld) \
        guest/vm/test/check.c guest/vm/test/queue.c Makefile $(DEPS)/build.ok
	@mkdir -p $(@D)
	@echo "  cc    bare $<"
	@$(ZIG) cc -target riscv64-freestanding-none -mcpu=generic_rv64+m+a+f+d+c+zicsr+zifencei \
	    -mcmodel=medany -std=gnu23 -O1 -g -Wall -Wextra -Werror -ffreestanding -fno-sanitize=all \
	    -fno-stack-protector -nostdlib -static -T guest/vm/test/link.ld \
	    $(filter %.c,$^) -o $@
$(VM_TESTS:%.c=$(OUT)/%): $(OUT)/%: $(OUT)/%.o $(OUT)/guest/vm/elf.o $(OUT)/vm.a | $(VM_BARE)
	@echo "  link  $@"
	@$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS_$(MODE)) -lcmocka -lm
$(OUT)/guest/vm/exec_test: $(OUT)/guest/vm/outside.o
ifeq ($(MODE),release)
vm-native: build/vm-native ## the machine as a program for tests (build/vm-native --help)
build/vm-native: $(OUT)/vm-native
	@ln -f $< $@
else
vm-native: $(OUT)/vm-native
endif

# --- PID 1 of the machine, and what makes a session of its bash ---------------------------
# For the image; and as a program of this computer, which tests drive. What bash loads is
# never sanitized, as bash is not.
VM_INIT     := $(wildcard guest/vm/init/*.c)
VM_INIT_OBJ := $(VM_INIT:%.c=$(OUT)/%.o)
VM_SESSION  := guest/vm/session/session.c guest/vm/init/order.h
VM_GUEST    := -std=gnu17 -O2 -fno-sanitize=undefined $(WARN) -D_GNU_SOURCE -Iguest
$(OUT)/vm-session.so: $(VM_SESSION) Makefile
	@mkdir -p $(@D)
	@echo "  cc    $@"
	@$(CC) $(VM_GUEST) -fPIC -shared $< -o $@
$(VM_INIT_OBJ): CPPFLAGS := -D_GNU_SOURCE -Iguest -DSESSION_LIBRARY='"$(OUT)/vm-session.so"'
$(OUT)/guest/vm/init/main.o: $(OUT)/vm-session.so
$(OUT)/vm-init: $(VM_INIT_OBJ)
	@echo "  link  $@"
	@$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS_$(MODE))
ifeq ($(MODE),release)
vm-init: build/vm-init    ## PID 1 of the machine, as a program for tests
build/vm-init: $(OUT)/vm-init
	@ln -f $< $@ && ln -f $(OUT)/vm-session.so build/vm-session.so
else
vm-init: $(OUT)/vm-init
endif

# The glibc is that of Debian 12 or later; PID 1 itself needs none.
build/guest/vm-init: $(VM_INIT) $(VM_SESSION) $(wildcard guest/vm/init/*.h) guest/abi/vm.h dev/kept \
                     Makefile $(DEPS)/build.ok
	@echo "  zig   $@"
	@mkdir -p $(@D)
	@dev/kept $@ deps/python-build.txt $(filter guest/%,$^) -- sh -ec '\
	    $(ZIG) cc -target riscv64-linux-gnu.2.36 $(VM_GUEST) -fPIC -shared -s guest/vm/session/session.c \
	        -o $@.session; \
	    $(ZIG) cc -target riscv64-linux-musl $(VM_GUEST) -Wno-shorten-64-to-32 -static -s \
	        -DSESSION_LIBRARY="\"$@.session\"" $(VM_INIT) -o $@; rm $@.session'

# --- the library ------------------------------------------------------------------------
# Its SONAME changes with what a program that was linked to it must not meet: the major
# version, before 1.0 the minor one (include/cloche.h).
SOVERSION := $(basename $(VERSION))
LIBRARY   := build/lib/libcloche.so.$(VERSION)
LIB_OBJ   := $(filter-out $(foreach r,cli conformance bake,$(OUT)/src/$r/%),$(OBJ))
PC = sed 's|@PREFIX@|$1|; s|@INCLUDE@|$2|; s|@LIB@|$3|; s|@VERSION@|$(VERSION)|' include/cloche.pc.in
ifeq ($(MODE),release)
library: $(LIBRARY) build/lib/pkgconfig/cloche.pc  ## build/lib/libcloche.so and its pkg-config file
$(LIBRARY): $(LIB_OBJ) include/cloche.map build/lib/_libwasmtime.so
	@echo "  link  $@"
	@$(CC) $(CFLAGS) -shared $(LIB_OBJ) -o $@ -Wl,-soname,libcloche.so.$(SOVERSION) -Lbuild/lib \
	    -Wl,-rpath,'$$ORIGIN:$$ORIGIN/cloche' -Wl,-z,relro,-z,now,-z,defs \
	    -Wl,--version-script=include/cloche.map $(LDLIBS)
	@ln -sf $(@F) build/lib/libcloche.so.$(SOVERSION) && ln -sf $(@F) build/lib/libcloche.so
build/lib/pkgconfig/cloche.pc: include/cloche.pc.in Makefile
	@mkdir -p $(@D)
	@$(call PC,$(CURDIR)/build,$(CURDIR)/include,$(CURDIR)/build/lib) > $@
else
library:
	$(again) MODE=release library
endif

PREFIX ?= /usr/local
INTO = $(DESTDIR)$(PREFIX)
# An image that is there is brought up to date first.
INSTALLED_VM := $(wildcard build/vm/machine-512.mem)
install: all $(INSTALLED_VM) ## program, library and what they need beneath PREFIX (and DESTDIR)
	@install -d $(addprefix $(INTO)/,bin include lib/pkgconfig lib/cloche/guest/ahead)
	@install -m 755 build/cloche $(INTO)/bin/
	@install -m 644 include/cloche.h $(INTO)/include/
	@install -m 755 $(LIBRARY) $(INTO)/lib/
	@install -m 755 build/lib/_libwasmtime.so build/cloche-sql $(INTO)/lib/cloche/
	@cd $(INTO)/lib && ln -sf $(notdir $(LIBRARY)) libcloche.so.$(SOVERSION) && \
	    ln -sf libcloche.so.$(SOVERSION) libcloche.so
	@$(call PC,$(PREFIX),$(PREFIX)/include,$(PREFIX)/lib) > $(INTO)/lib/pkgconfig/cloche.pc
	@install -m 644 build/guest/*.bare.wasm build/guest/*.img $(INTO)/lib/cloche/guest/
	@install -m 644 build/guest/ahead/* $(INTO)/lib/cloche/guest/ahead/
	@[ ! -d build/guest/tools ] || cp -R build/guest/tools $(INTO)/lib/cloche/guest/
	@[ -z "$(INSTALLED_VM)" ] || { install -d $(INTO)/lib/cloche/vm && cd build/vm && \
	    install -m 644 Image root.erofs $(INTO)/lib/cloche/vm/ && \
	    cp --sparse=always --remove-destination disk.ext4 machine-512.mem $(INTO)/lib/cloche/vm/ && \
	    chmod 644 $(INTO)/lib/cloche/vm/*; }

# --- the guests, whatever the MODE of the host ------------------------------------------
ifeq ($(MODE),release)
program: build/cloche build/cloche-sql     ## the program of this MODE
conformance: build/cloche-conformance build/cloche-vm-core build/probe/tools/catalogue.json  ## the same with the fixtures that tests need
guests: $(addprefix build/guest/,script.wasm script.metered lint.wasm pattern.wasm typescript.bare.wasm vm.wasm) build/cloche-sql  ## compiled to Wasm and baked

build/cloche build/cloche-sql build/cloche-bake build/cloche-vm-bake build/cloche-vm-core build/cloche-conformance: build/%: $(OUT)/%
	@ln -f $< $@

# The bake runs the guest's start once and writes script.wasm and what belongs to it.
build/guest/script.wasm build/guest/lint.wasm build/guest/pattern.wasm build/guest/vm.wasm: %.wasm: %.raw.wasm build/cloche-bake
	@echo "  bake  $@"
	@build/cloche-bake $< -o $(@:.wasm=)

# What servers and `run_script` begin with is compiled here, or the first start would do it,
# which takes seconds and 25 MB of memory: the script guest, once more with fuel counted, and
# the linter, the patterns, the machine. The folder begins anew, so that no earlier guest's stays in it.
build/guest/script.metered: build/guest/script.wasm build/guest/lint.wasm build/guest/pattern.wasm \
                            build/guest/vm.wasm build/guest/typescript.bare.wasm
	@echo "  ahead $@"
	@rm -rf $(@D)/ahead && tar -xmf $(@D)/typescript.tar -C $(@D) ahead
	@build/cloche-bake --ahead $(@D)/typescript.bare.wasm $(@D)/ahead
	@for guest in lint pattern vm script; do \
	    build/cloche-bake --own --ahead $(@D)/$$guest.bare.wasm $(@D)/ahead || exit; done
	@build/cloche-bake --metered --ahead $(@:.metered=.bare.wasm) $(@D)/ahead
	@[ ! -e $(@D)/checker.tar ] || tar -xmf $(@D)/checker.tar -C $(@D) ahead
	@touch $@

# esbuild, with Go's runtime. What comes of it is kept, since it takes half a minute; what
# was compiled ahead is for this machine's CPU, and made again where that is another.
build/guest/typescript.bare.wasm: build/guest/typescript.tar build/cloche-bake
	@tar -xmf $< -C $(@D) && build/cloche-bake --ahead $@ $(@D)/ahead
build/guest/typescript.tar: build/guest/typescript.raw.wasm build/cloche-bake dev/kept
	@echo "  bake  $(@:.tar=)"
	@dev/kept $@ $< deps/python-build.txt \
	    $(filter-out %_test.c %_test.h,$(wildcard $(foreach r,bake engine wasi vfs,src/$r/*.[ch]))) -- \
	    sh -ec 'cd $(@D); ../cloche-bake --wasi typescript.raw.wasm -o typescript; \
	        rm -rf ahead typescript.wasm; ../cloche-bake --ahead typescript.bare.wasm ahead; \
	        tar -cf typescript.tar typescript.bare.wasm typescript.img ahead'

checker: build/guest/checker.bare.wasm  ## the type checker, ready in build/guest (minutes, once)
build/guest/checker.bare.wasm: build/guest/checker.tar build/guest/script.metered
	@tar -xmf $< -C $(@D) && build/cloche-bake --ahead $@ $(@D)/ahead
build/guest/checker.tar: build/guest/checker.raw.wasm build/cloche-bake dev/kept
	@echo "  bake  $(@:.tar=)"
	@dev/kept $@ $< deps/python-build.txt $(wildcard $(foreach r,bake engine wasi,src/$r/*.[ch])) -- \
	    sh -ec 'cd $(@D); ../cloche-bake --wasi checker.raw.wasm -o checker; rm -rf checker.wasm made; \
	        mkdir -p made/ahead; ../cloche-bake --ahead checker.bare.wasm made/ahead; \
	        tar -cf checker.tar checker.bare.wasm checker.img -C made ahead; rm -rf made'
else
program: $(OUT)/cloche
conformance: $(OUT)/cloche-conformance
checker:
	$(again) MODE=release checker
guests:
	$(again) MODE=release guests
endif

build/guest/script.raw.wasm: $(SCRIPT_OBJ)
build/guest/lint.raw.wasm: $(LINT_OBJ)
build/guest/pattern.raw.wasm: $(PATTERN_OBJ)
build/guest/script.raw.wasm build/guest/lint.raw.wasm build/guest/pattern.raw.wasm:
	@echo "  link  $@"
	@$(GUEST_CC) $^ -o $@ $(GUEST_LDFLAGS)

# The machine: static data lies below RAM, whose largest size the memory has room for
# (guest/abi/vm.h). No WASI and no C library, but the loops that take memory.copy's place.
VM_MEMORY := 1140850688
build/guest/vm.raw.wasm: $(VM_WASM)
	@echo "  link  $@"
	@$(GUEST_CC) $^ -o $@ -nostdlib -lcompiler_rt -mexec-model=reactor -Wl,--no-entry -Wl,--strip-debug \
	    -Wl,-z,stack-size=1048576 -Wl,--export=__stack_pointer \
	    -Wl,--initial-memory=$(VM_MEMORY) -Wl,--max-memory=$(VM_MEMORY)
$(filter build/guest/vm/%,$(VM_WASM)): build/%.o: %.c Makefile $(DEPS)/build.ok
	@mkdir -p $(@D)
	@echo "  wasm  $<"
	@$(GUEST_CC) -std=gnu23 -O3 -DNDEBUG -ffreestanding -fno-sanitize=undefined $(VM_FLAGS) \
	    $(WARN) -Wno-missing-prototypes -Iguest -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@

# A kernel for tests, in the place of Linux.
build/probe/machine.Image: guest/vm/probe/kernel.c guest/vm/probe/link.ld guest/abi/vm.h $(DEPS)/build.ok
	@echo "  probe $@"
	@mkdir -p $(@D)
	@$(ZIG) cc -target riscv64-freestanding -mcmodel=medany -mno-relax -std=gnu23 -O2 -ffreestanding \
	    -fno-sanitize=undefined -nostdlib -Wall -Wextra -Werror -Iguest $< \
	    -Wl,-T,guest/vm/probe/link.ld -o $@.elf
	@objcopy -I elf64-little -O binary $@.elf $@

# The command-line tools: each package built by its recipe, or taken from the cache. dev/tool
# looks whether anything changed, and puts back what making the guests anew took away.
PACKAGES := $(filter-out lib-%,$(patsubst guest/tools/%/recipe,%,$(wildcard guest/tools/*/recipe)))
tools: $(PACKAGES:%=tool-%)  ## the command-line tools, ready in build/guest/tools
	@dev/catalogue build/guest/tools $(PACKAGES)
$(PACKAGES:%=tool-%): tool-%: guests $(DEPS)/tools.ok
	@dev/tool $* build/guest/tools

# A package of tools for tests alone, laid out as the others are.
PROBE := $(wildcard guest/probe/*.c guest/probe/*.json)
build/probe/tools/catalogue.json: $(PROBE) dev/catalogue dev/kept $(DEPS)/build.ok
	@echo "  wasm  guest/probe"
	@mkdir -p $(@D)/probe && cp guest/probe/*.json $(@D)/probe/
	@dev/kept $(@D)/probe/probe.wasm deps/python-build.txt guest/probe/probe.c -- \
	    $(ZIG) cc -target wasm32-wasi -O2 -s guest/probe/probe.c -o $(@D)/probe/probe.wasm
	@dev/catalogue $(@D) probe && touch $@

GO_BUILD := GOOS=wasip1 GOARCH=wasm GOTOOLCHAIN=local GOSUMDB=off GOPROXY=off \
            GOFLAGS=-modcacherw ../../$(DEPS)/go build -mod=readonly -trimpath \
            -buildvcs=false -buildmode=c-shared -ldflags='-s -w'
build/guest/typescript.raw.wasm: $(addprefix guest/typescript/,main.go go.mod go.sum) \
                                 dev/kept $(DEPS)/build.ok
	@echo "  go    $@"
	@mkdir -p $(@D)
	@GOCACHE=$(CACHE)/go GOMODCACHE=$(CURDIR)/$(DEPS)/go-modules dev/kept $@ \
	    $(filter guest/%,$^) deps/python-go.txt -- \
	    env -C guest/typescript $(GO_BUILD) -o ../../$@ .

# TypeScript's checker, whose packages only its own module may import: ours are laid over it
# as a command of it. Go keeps what it compiles of it (five minutes) in the cache.
CHECKER_GO := $(wildcard guest/checker/*.go)
build/guest/checker.raw.wasm: $(CHECKER_GO) guest/checker/go.mod guest/checker/go.sum dev/kept $(DEPS)/checker.ok
	@echo "  go    $@"
	@mkdir -p $(@D)
	@comma=; { printf '{"Replace": {'; for f in $(CHECKER_GO); do \
	    printf '%s"cmd/cloche/%s": "$(CURDIR)/%s"' "$$comma" "$${f##*/}" "$$f"; comma=', '; done; \
	    printf '}}'; } >$(@D)/checker.overlay.json
	@GOCACHE=$(CACHE)/go GOMODCACHE=$(CURDIR)/$(DEPS)/go-checker/modules \
	    GOFLAGS='-modcacherw -overlay=$(CURDIR)/$(@D)/checker.overlay.json' OVER=$(CURDIR)/$@ GO=$(CURDIR)/$(DEPS)/go \
	    dev/kept $@ $(filter guest/%,$^) deps/python-go.txt -- sh -ec 'cd $(DEPS)/go-checker/typescript; \
	        GOOS=wasip1 GOARCH=wasm GOTOOLCHAIN=local GOSUMDB=off GOPROXY=off nice -n 10 "$$GO" build \
	        -mod=readonly -trimpath -buildvcs=false -buildmode=c-shared -ldflags="-s -w" -o "$$OVER" ./cmd/cloche'

# The Linux machine: kernel, root and an empty disk, of Debian's packages (docs/machine-image.md),
# and its memory as it is once it has started, which is written beside them.
vm: build/vm/machine-512.mem  ## the Linux machine, ready in build/vm (minutes, once)
build/vm/Image: $(addprefix guest/vm/image/,kernel kernel.config) deps/debian-kernel.txt dev/kept $(DEPS)/vm.ok
	@echo "  linux $@"
	@mkdir -p $(@D)
	@dev/kept $@ $(filter-out %/kept %.ok,$^) -- guest/vm/image/kernel $@
build/vm/root.erofs: $(addprefix guest/vm/image/,root debian.py libraries.py pip_copy.py excluded.conf rare.hints) build/guest/vm-init \
                     deps/debian-root.txt dev/kept $(DEPS)/vm.ok
	@echo "  root  $@"
	@mkdir -p $(@D)
	@dev/kept $@ $(filter-out %/kept %.ok,$^) -- guest/vm/image/root build/guest/vm-init $@
build/vm/disk.ext4: guest/vm/image/disk $(DEPS)/vm.ok
	@mkdir -p $(@D)
	@guest/vm/image/disk $@
ifeq ($(MODE),release)
build/vm/machine-512.mem: $(addprefix build/vm/,Image root.erofs disk.ext4) build/guest/vm.wasm build/cloche-vm-bake
	@echo "  bake  $@"
	@build/cloche-vm-bake build/vm
else
build/vm/machine-512.mem:
	$(again) MODE=release $@
endif

# The page of `cloche serve`: one script, by the same esbuild on this machine.
build/web/esbuild: guest/typescript/go.mod guest/typescript/go.sum dev/kept $(DEPS)/build.ok
	@echo "  go    $@"
	@mkdir -p $(@D)
	@GOCACHE=$(CACHE)/go GOMODCACHE=$(CURDIR)/$(DEPS)/go-modules dev/kept $@ \
	    $(filter guest/%,$^) deps/python-go.txt -- env -C guest/typescript \
	    CGO_ENABLED=0 GOTOOLCHAIN=local GOSUMDB=off GOPROXY=off GOFLAGS=-modcacherw \
	    ../../$(DEPS)/go build -mod=readonly -trimpath -buildvcs=false -ldflags='-s -w' \
	    -o ../../$@ github.com/evanw/esbuild/cmd/esbuild
build/web/page.js: web/page.ts web/tsconfig.json build/web/esbuild
	@echo "  web   $@"
	@build/web/esbuild $< --bundle --minify --format=esm --target=es2022 --outfile=$@ \
	    --log-level=warning

# One object a file: one `zig cc` over many writes no usable .d file. The JavaScript beside
# it is taken in by #embed. What a guest exports is called from outside: no prototype.
$(PATTERN_SRC:%.c=build/%.o): GUEST_CFLAGS += -isystem $(DEPS)/pcre2/include -DPCRE2_STATIC
$(sort $(SCRIPT_SRC:%.c=build/%.o) $(LINT_SRC:%.c=build/%.o) $(PATTERN_SRC:%.c=build/%.o)): build/%.o: %.c Makefile $(DEPS)/build.ok
	@mkdir -p $(@D)
	@echo "  wasm  $<"
	@$(GUEST_CC) $(GUEST_CFLAGS) $(WARN) -Wno-missing-prototypes -Iguest -isystem $(DEPS)/quickjs \
	    --embed-dir=$(DEPS)/acorn \
	    -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@

# QuickJS takes long to compile: its objects are kept in the cache. Most of it is compiled
# as a part of own.c, with four lines changed.
build/guest/quickjs/changed.c: guest/quickjs/own.sed $(DEPS)/build.ok
	@mkdir -p $(@D)
	@sed -f $< $(DEPS)/quickjs/quickjs.c > $@
	@test "$$(grep -c own_session $@)" = 3 && grep -q own_is_frozen $@ || { echo "$<: not what it was made for"; exit 1; }
build/guest/quickjs/own.o: guest/quickjs/own.c guest/quickjs/own.h build/guest/quickjs/changed.c \
        Makefile dev/kept
	@echo "  wasm  guest/quickjs/own.c"
	@dev/kept $@ deps/python-build.txt guest/quickjs/*.[ch] build/guest/quickjs/changed.c \
	    $(DEPS)/quickjs/*.[ch] -- $(GUEST_CC) $(GUEST_CFLAGS) -w -Iguest -Ibuild/guest/quickjs \
	    -isystem $(DEPS)/quickjs -c guest/quickjs/own.c -o $@
build/guest/quickjs/%.o: Makefile dev/kept $(DEPS)/build.ok
	@echo "  wasm  quickjs/$*.c"
	@dev/kept $@ deps/python-build.txt $(DEPS)/quickjs/*.[ch] -- \
	    $(GUEST_CC) $(GUEST_CFLAGS) -w -c $(DEPS)/quickjs/$*.c -o $@

build/guest/pcre2/%.o: Makefile dev/kept $(DEPS)/build.ok
	@echo "  wasm  pcre2_$*.c"
	@dev/kept $@ deps/python-build.txt $(DEPS)/pcre2/*/*.[ch] -- \
	    $(GUEST_CC) $(GUEST_CFLAGS) -w -DHAVE_CONFIG_H -DHAVE_MEMMOVE -DPCRE2_STATIC -DPCRE2_CODE_UNIT_WIDTH=8 \
	    -DSUPPORT_PCRE2_8 -DSUPPORT_UNICODE -I$(DEPS)/pcre2/include -c $(DEPS)/pcre2/src/pcre2_$*.c -o $@

-include $(OBJ:.o=.d) $(TESTS:%.c=$(OUT)/%.d) $(MAINS:%.c=$(OUT)/%.d) $(SCRIPT_SRC:%.c=build/%.d) $(LINT_SRC:%.c=build/%.d) \
         $(PATTERN_SRC:%.c=build/%.d) \
         $(VM_WASM:.o=.d)
-include $(BENCH:%.c=$(OUT)/%.d) $(FUZZ:%.c=$(OUT)/%.d) $(VM_OBJ:.o=.d) $(VM_NATIVE:%.c=$(OUT)/%.d) $(VM_INIT_OBJ:.o=.d)
