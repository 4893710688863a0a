# What a commit must pass, and what is measured.
FORMATTED  := $(wildcard $(foreach d,src/*/* guest/* guest/vm/* bench fuzz,$d/*.c $d/*.h))

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
	@dev/unit $(OUT) $(FUZZ:.c=)
tests-and-fuzzed: $(TESTS:%.c=$(OUT)/%) $(FUZZ:%.c=$(OUT)/%)
	@dev/unit $(OUT) $(TESTS:.c=) $(FUZZ:.c=)
check:                    ## everything that a commit must pass (./check)
	@./check
deep: all tools python tsan $(DEPS)/test.ok ## unit tests with threads watched, crashes at many more moments, long fuzzing of messages and frames, 1,000 damaged inputs a tool (hours)
	@CLOCHE_WASI=deep CLOCHE_DAMAGED=1000 CLOCHE_MATH=30000 $(DEPS)/venv-test/bin/python -m pytest -q \
	    test/test_wasi.py test/test_tool_hostile.py test/test_math.py
	@CLOCHE_KILLS=3000 CLOCHE_MOMENTS=5000 $(DEPS)/venv-test/bin/python -m pytest -q \
	    test/test_crash.py test/test_power.py
	@CLOCHE_PYTHON=deep $(DEPS)/venv-test/bin/python -m pytest -q test/test_python_suite.py test/test_python_packages.py
	@CLOCHE_FUNCTION_ROUNDS=500 $(DEPS)/venv-test/bin/python -m pytest -q \
	    test/test_functions_stress.py
	@CLOCHE_PROGRAMS=deep CLOCHE_MACHINES=100 CLOCHE_STREAMS=20000 $(DEPS)/venv-test/bin/python -m \
	    pytest -q test/test_vm_programs.py test/test_machine_chance.py test/test_cpu.py
	$(again) MODE=asan program conformance $(foreach f,message endpoint frames border sockets files,build/asan/fuzz/$f)
	@CLOCHE_BIN=build/asan/cloche CLOCHE_CHAOS=100 $(DEPS)/venv-test/bin/python -m pytest -q \
	    test/test_chaos.py
	@build/asan/fuzz/message -n 1000000 -s $$$$ && build/asan/fuzz/endpoint -n 1000000 -s $$$$
	@build/asan/fuzz/frames -n 3000000 -s $$$$ && build/asan/fuzz/border -n 3000000 -s $$$$ && \
	    build/asan/fuzz/sockets -n 300000 -s $$$$ && build/asan/fuzz/files -n 1000000 -s $$$$
	$(again) MODE=debug build/debug/src/sandbox/vm/copies_test
	$(again) $(OUT)/src/sandbox/writeback/writeback_test
	@CLOCHE_DEEP=1 build/debug/src/sandbox/vm/copies_test
	@CLOCHE_FSX_SECONDS=3600 CLOCHE_SEED=$$$$ $(DEPS)/venv-test/bin/python -m pytest -q test/test_mounts_here.py
	@CLOCHE_TREE_FILES=15000 $(DEPS)/venv-test/bin/python -m pytest -q test/test_machine_trees.py
	@CLOCHE_WRITEBACK_EACH=1 $(OUT)/src/sandbox/writeback/writeback_test
rooms:                    ## includes go one way (src/rooms.txt)
	@dev/rooms
reference: program        ## write docs/api.md, docs/tool-table.md, clients/node/api.d.ts from what they are made of
	@build/cloche api --reference >docs/api.md.new && mv docs/api.md.new docs/api.md
	@dev/tool-table
	@dev/client-types
	@dev/python-stubs
reference-check: program  ## do these say what they are made of?
	@build/cloche api --reference | diff -u docs/api.md - || \
	    { echo "docs/api.md is stale: run 'make reference'"; exit 1; }
	@dev/tool-table --check
	@dev/client-types --check
	@dev/python-stubs --check
format: $(DEPS)/test.ok   ## lay out the code by .clang-format
	@$(DEPS)/venv-test/bin/clang-format -i $(FORMATTED)
format-check: $(DEPS)/test.ok  ## is it laid out so?
	@$(DEPS)/venv-test/bin/clang-format --dry-run -Werror $(FORMATTED)
tidy: $(SRC:%.c=$(OUT)/%.tidy)  ## clang-tidy on what changed since it last passed
bench: $(DEPS)/bench.ok   ## measure against the peers (bench/README.md); ONLY="fresh http"
	$(again) MODE=release all conformance benches
	@bench/run $(ONLY)
benches: $(BENCH:%.c=$(OUT)/%)

# What passed is kept by the contents of all that the compiler read of ours.
$(OUT)/%.tidy: %.c .clang-tidy $(OUT)/%.o dev/kept $(DEPS)/test.ok
	@echo "  tidy  $<"
	@dev/kept $@ $< .clang-tidy deps/python-test.txt \
	    $$(sed -nE 's,^((src|guest|include)/.*):$$,\1,p' $(@:.tidy=.d)) -- \
	    sh -ec '$(DEPS)/venv-test/bin/clang-tidy --quiet $< -- -std=gnu17 $(subst ','\'',$(CPPFLAGS)) \
	        $(PKG_CFLAGS); echo passed >$@'
