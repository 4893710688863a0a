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
