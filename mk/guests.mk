# The guests, whatever the MODE of the host: compiled to Wasm by clang 21 out of the pinned
# zig, or by Go, and baked.
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

ifeq ($(MODE),release)
guests: $(addprefix build/guest/,script.wasm script.metered lint.wasm pattern.wasm typescript.bare.wasm vm.wasm) build/cloche-sql  ## compiled to Wasm and baked

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

# Guests as they are once they know the program's table of host calls, its declarations: no
# start has to tell them. In folders of its own, since the builder's are none of its business.
ready: build/guest/ready
build/guest/ready: build/cloche build/guest/script.metered $(wildcard build/guest/checker.bare.wasm)
	@echo "  ready $(@D)/ahead"
	@rm -f $(@D)/ahead/*.ready && home=$$(mktemp -d) && \
	    env -u XDG_CONFIG_HOME -u XDG_STATE_HOME -u XDG_CACHE_HOME -u XDG_DATA_HOME HOME=$$home \
	    build/cloche make-ready && rm -rf $$home && touch $@

# esbuild, with Go's runtime. What comes of it is kept, since it takes half a minute; what
# was compiled ahead is for this machine's CPU, and made again where that is another.
build/guest/typescript.bare.wasm: build/guest/typescript.tar build/cloche-bake
	@tar -xmf $< -C $(@D) && build/cloche-bake --ahead $@ $(@D)/ahead
build/guest/typescript.tar: build/guest/typescript.raw.wasm build/cloche-bake dev/kept
	@echo "  bake  $(@:.tar=)"
	@dev/kept $@ $< deps/python-build.txt \
	    $(filter-out %_test.c %_test.h,$(wildcard $(foreach r,bake engine wasi vfs,src/*/$r/*.[ch]))) -- \
	    sh -ec 'cd $(@D); ../cloche-bake --wasi typescript.raw.wasm -o typescript; \
	        rm -rf ahead typescript.wasm; ../cloche-bake --ahead typescript.bare.wasm ahead; \
	        tar -cf typescript.tar typescript.bare.wasm typescript.img typescript.id ahead'

checker: build/guest/checker.bare.wasm  ## the type checker, ready in build/guest (minutes, once)
	@$(MAKE) --no-print-directory ready
build/guest/checker.bare.wasm: build/guest/checker.tar build/guest/script.metered
	@tar -xmf $< -C $(@D) && build/cloche-bake --ahead $@ $(@D)/ahead
build/guest/checker.tar: build/guest/checker.raw.wasm build/cloche-bake dev/kept
	@echo "  bake  $(@:.tar=)"
	@dev/kept $@ $< deps/python-build.txt $(wildcard $(foreach r,bake engine wasi,src/*/$r/*.[ch])) -- \
	    sh -ec 'cd $(@D); ../cloche-bake --wasi checker.raw.wasm -o checker; rm -rf checker.wasm made; \
	        mkdir -p made/ahead; ../cloche-bake --ahead checker.bare.wasm made/ahead; \
	        tar -cf checker.tar checker.bare.wasm checker.img checker.id -C made ahead; rm -rf made'
else
ready:
	$(again) MODE=release ready
checker:
	$(again) MODE=release checker
guests:
	$(again) MODE=release guests
endif

build/guest/script.raw.wasm: build/guest/libc.o $(SCRIPT_OBJ)
build/guest/script/intl.o: $(wildcard guest/intl/*.js) build/guest/intl/data.txt
build/guest/lint/lint.o: $(wildcard guest/lint/*.js) # by #embed, which names no prerequisite
build/guest/lint.raw.wasm: build/guest/libc.o $(LINT_OBJ)
build/guest/pattern.raw.wasm: build/guest/libc.o $(PATTERN_OBJ)

# The words and patterns of languages, and the time zones: what the ICU of the pinned node says.
build/guest/intl/data.txt: guest/intl/data.mjs guest/intl/zones.txt dev/kept $(DEPS)/build.ok
	@echo "  data  guest/intl"
	@mkdir -p $(@D)
	@dev/kept $@ guest/intl/data.mjs guest/intl/zones.txt deps/python-node.txt -- $(WEB_NODE) guest/intl/data.mjs $@

build/guest/script.raw.wasm build/guest/lint.raw.wasm build/guest/pattern.raw.wasm:
	@echo "  link  $@"
	@$(GUEST_CC) $^ -o $@ $(GUEST_LDFLAGS)

# Functions of the C library, for guests and tools.
build/guest/libc.o: guest/libc/make guest/libc/accurate.c dev/kept $(DEPS)/build.ok
	@echo "  wasm  guest/libc"
	@mkdir -p $(@D)
	@dev/kept $@ deps/python-build.txt guest/libc/make guest/libc/accurate.c \
	    $(foreach d,ctype math misc stdlib string,$(DEPS)/musl/$d/*.[ch]) -- guest/libc/make $@

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

# One object a file: one `zig cc` over many writes no usable .d file. The JavaScript beside
# it is taken in by #embed. What a guest exports is called from outside: no prototype.
$(PATTERN_SRC:%.c=build/%.o): GUEST_CFLAGS += -isystem $(DEPS)/pcre2/include -DPCRE2_STATIC
$(sort $(SCRIPT_SRC:%.c=build/%.o) $(LINT_SRC:%.c=build/%.o) $(PATTERN_SRC:%.c=build/%.o)): build/%.o: %.c Makefile mk/guests.mk $(DEPS)/build.ok
	@mkdir -p $(@D)
	@echo "  wasm  $<"
	@$(GUEST_CC) $(GUEST_CFLAGS) $(WARN) -Wno-missing-prototypes -Iguest -isystem $(DEPS)/quickjs \
	    --embed-dir=$(DEPS)/acorn --embed-dir=build/guest/intl \
	    -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@

# QuickJS takes long to compile: its objects are kept in the cache. Most of it is compiled
# as a part of own.c, with some lines changed.
build/guest/quickjs/changed.c: guest/quickjs/own.sed $(DEPS)/build.ok
	@mkdir -p $(@D)
	@sed -f $< $(DEPS)/quickjs/quickjs.c > $@
	@test "$$(grep -cE '\<(own_(session|is_frozen|refuses|is_cut|zone)|OWN_FUNCTION)\>' $@)" = 8 && \
	    test "$$(grep -c 'OWN_[A-Z_]*PLACE;' $@)" = 15 || { echo "$<: not what it was made for"; exit 1; }
build/guest/quickjs/own.o: guest/quickjs/own.c guest/quickjs/own.h build/guest/quickjs/changed.c \
        Makefile mk/guests.mk dev/kept
	@echo "  wasm  guest/quickjs/own.c"
	@dev/kept $@ deps/python-build.txt guest/quickjs/*.[ch] build/guest/quickjs/changed.c \
	    $(DEPS)/quickjs/*.[ch] -- $(GUEST_CC) $(GUEST_CFLAGS) -w -Iguest -Ibuild/guest/quickjs \
	    -isystem $(DEPS)/quickjs -c guest/quickjs/own.c -o $@
build/guest/quickjs/%.o: Makefile mk/guests.mk dev/kept $(DEPS)/build.ok
	@echo "  wasm  quickjs/$*.c"
	@dev/kept $@ deps/python-build.txt $(DEPS)/quickjs/*.[ch] -- \
	    $(GUEST_CC) $(GUEST_CFLAGS) -w -c $(DEPS)/quickjs/$*.c -o $@

build/guest/pcre2/%.o: Makefile mk/guests.mk dev/kept $(DEPS)/build.ok
	@echo "  wasm  pcre2_$*.c"
	@dev/kept $@ deps/python-build.txt $(DEPS)/pcre2/*/*.[ch] -- \
	    $(GUEST_CC) $(GUEST_CFLAGS) -w -DHAVE_CONFIG_H -DHAVE_MEMMOVE -DPCRE2_STATIC -DPCRE2_CODE_UNIT_WIDTH=8 \
	    -DSUPPORT_PCRE2_8 -DSUPPORT_UNICODE -I$(DEPS)/pcre2/include -c $(DEPS)/pcre2/src/pcre2_$*.c -o $@

-include $(SCRIPT_SRC:%.c=build/%.d) $(LINT_SRC:%.c=build/%.d) $(PATTERN_SRC:%.c=build/%.d)
