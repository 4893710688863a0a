# The Python guest: CPython of Debian's source, with a library and packages, baked
# (docs/python.md). It is apart from the other guests, because it takes minutes and 100 MB.
PYTHON_WORLD := $(wildcard guest/python/world/*.py)
PYTHON_PARTS := build/guest/python/parts
PYTHON_OBJ   := $(patsubst %,build/guest/python/%.o,python code frames missing scrypt settle waits)
PYTHON_LIBS   = $(PYTHON_PARTS)/lib/cpython.o $(PYTHON_PARTS)/lib/libmodules.a $(filter-out %/libmodules.a,$(wildcard $(PYTHON_PARTS)/lib/*.a))
PYTHON_WASI  := -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_GETPID -D_WASI_EMULATED_PROCESS_CLOCKS

$(DEPS)/python.ok: $(DEPS)/build.ok deps/debian-python.txt deps/python-guest.txt deps/python-types.txt deps/python-extensions.txt \
                   deps/python-cython.txt
	@deps/fetch python && touch $@

# What others wrote, compiled; kept, since it takes five minutes.
build/guest/python.tar: guest/python/make guest/python/compile.py deps/debian-python.txt \
                        deps/python-guest.txt deps/python-extensions.txt deps/python-cython.txt deps/python-build.txt dev/kept $(DEPS)/python.ok
	@echo "  wasm  CPython (minutes)"
	@mkdir -p $(@D)
	@dev/kept $@ $(filter guest/% deps/%,$^) -- guest/python/make $@
$(PYTHON_PARTS)/ok: build/guest/python.tar
	@rm -rf $(@D) && mkdir -p $(@D) && tar -xmf $< -C $(@D) && touch $@

# Of the guest's own sources, only these are ours: warnings of Python's headers are not.
$(PYTHON_OBJ): build/%.o: %.c guest/abi/abi.h $(wildcard guest/python/*.h) guest/script/heap.h mk/python.mk $(PYTHON_PARTS)/ok
	@echo "  wasm  $<"
	@$(GUEST_CC) -std=gnu23 -O3 -DNDEBUG -fno-sanitize=undefined $(PYTHON_WASI) $(WARN) \
	    -Wno-missing-prototypes -Iguest -isystem $(PYTHON_PARTS)/include -c $< -o $@
build/guest/python.raw.wasm: build/guest/libc.o $(PYTHON_OBJ) $(patsubst %,build/guest/script/%.o,heap memory) $(PYTHON_PARTS)/ok
	@echo "  link  $@"
	@$(GUEST_CC) -mexec-model=reactor $(filter %.o,$^) $(PYTHON_LIBS) -o $@ \
	    -lwasi-emulated-process-clocks -lwasi-emulated-signal -lwasi-emulated-getpid \
	    -Wl,-z,stack-size=8388608 -Wl,--strip-debug -Wl,--export=__stack_pointer

ifeq ($(MODE),release)
python: build/guest/python.ahead build/guest/python-types.ahead  ## Python for code of agents, ready in build/guest (minutes, once)
	@$(MAKE) --no-print-directory ready
# The library with our world in it is what its start sees at "/".
build/guest/python.bare.wasm: build/guest/python.raw.wasm $(PYTHON_WORLD) guest/python/compile.py guest/python/beside.py build/cloche-bake
	@echo "  bake  build/guest/python"
	@rm -rf $(@D)/python/root && mkdir -p $(@D)/python/root/source && \
	    cp -R $(PYTHON_PARTS)/library $(@D)/python/root/lib && \
	    cp -R guest/python/world $(@D)/python/root/source/_cloche_world && \
	    PYTHONHOME=$(PYTHON_PARTS) PYTHONDONTWRITEBYTECODE=1 $(PYTHON_PARTS)/python -S guest/python/compile.py $(@D)/python/root/lib $(@D)/python/root/source && \
	    python3 -P guest/python/beside.py $(@D)/python/root/lib $(DEPS)/python/packages/*.whl && \
	    rm -rf $(@D)/python/root/source
	@build/cloche-bake --own --wasi --data $(@D)/python/root $< -o $(@D)/python && rm $(@D)/python.wasm
	@rm -rf $(@D)/python/root
# The same program with mypy in the place of our world, and stubs beside it.
PYTHON_TYPES := build/guest/python/types
# Both worlds have these.
PYTHON_SHARED := $(patsubst %,guest/python/world/%.py,names nesting typescript)
build/guest/python-types.bare.wasm: build/guest/python.raw.wasm $(wildcard guest/python/types/*.py) $(PYTHON_SHARED) docs/cloche.pyi guest/python/compile.py build/cloche-bake
	@echo "  bake  build/guest/python-types"
	@rm -rf $(PYTHON_TYPES) && mkdir -p $(PYTHON_TYPES)/source && cp -R $(PYTHON_PARTS)/library $(PYTHON_TYPES)/lib && \
	    for wheel in $(DEPS)/python-types/*.whl; do python3 -m zipfile -e $$wheel $(PYTHON_TYPES)/source || exit 1; done && \
	    rm -rf $(PYTHON_TYPES)/source/mypyc $(PYTHON_TYPES)/source/*.dist-info && \
	    cp -R guest/python/types $(PYTHON_TYPES)/source/_cloche_world && \
	    cp $(PYTHON_SHARED) $(PYTHON_TYPES)/source/_cloche_world/ && \
	    PYTHONHOME=$(PYTHON_PARTS) PYTHONDONTWRITEBYTECODE=1 $(PYTHON_PARTS)/python -S guest/python/compile.py $(PYTHON_TYPES)/lib $(PYTHON_TYPES)/source && \
	    cp -R $(PYTHON_TYPES)/source/mypy/typeshed $(PYTHON_TYPES)/lib/mypy/ && cp docs/cloche.pyi $(PYTHON_TYPES)/lib/
	@build/cloche-bake --own --wasi --data $(PYTHON_TYPES) $< -o $(@D)/python-types && rm $(@D)/python-types.wasm
	@rm -rf $(PYTHON_TYPES)
# The folder of compiled modules begins anew with the other guests.
build/guest/python.ahead: build/guest/python.bare.wasm build/guest/script.metered
	@echo "  ahead build/guest/python"
	@build/cloche-bake --own --ahead $< $(@D)/ahead && touch $@
build/guest/python-types.ahead: build/guest/python-types.bare.wasm build/guest/script.metered
	@echo "  ahead build/guest/python-types"
	@build/cloche-bake --own --ahead $< $(@D)/ahead && touch $@
build/guest/ready: $(wildcard build/guest/python.ahead build/guest/python-types.ahead)
else
python:
	$(again) MODE=release python
endif
