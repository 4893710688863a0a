# How a tool in C becomes a ZIP: compiled as a program for WASI preview 1, and packed with
# its manifest. The compiler is the one that this project builds its guests with; any
# clang that has wasm32-wasi does as well: make CC='clang --target=wasm32-wasi'.
#
# A program with a main() exports _start, which is what Cloche calls: no -Wl,--no-entry.
ZIG := $(wildcard ../../../build/deps/zig)
ifeq ($(origin CC),default)
CC := $(if $(ZIG),$(ZIG) cc -target wasm32-wasi,clang --target=wasm32-wasi)
endif
CFLAGS := -std=c17 -O2 -Wall -Wextra

$(NAME).zip: manifest.json $(NAME).wasm
	rm -f $@ && python3 -m zipfile -c $@ $^
$(NAME).wasm: main.c
	$(CC) $(CFLAGS) -Wl,--strip-debug -o $@ $<
clean:
	rm -f $(NAME).wasm $(NAME).zip
.PHONY: clean
