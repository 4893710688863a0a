# For recipes of programs that expect a whole POSIX system: sourced by them ($shim/use.sh).
#
#   make_shim                     compiles it, and puts shim-cc on PATH: wasm-cc with the shim's
#                                 headers, and its objects when it links (first, for whatever
#                                 is not there yet is taken from the C library at once)
#   gnu_configure FOLDER FLAG...  runs FOLDER's configure for WASI, in the working folder
#   built_sources [FOLDER]        makes the headers that its Makefile wants first
#
# What the shim does: README.md beside this file.
shim_flags=(-fno-sanitize=undefined -D_GNU_SOURCE -D_WASI_EMULATED_SIGNAL
    -D_WASI_EMULATED_GETPID -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_MMAN)

make_shim() {
    unpack wasi-libc
    compile shim.objects -O2 "${shim_flags[@]}" "-I$shim/include" -Iwasi-libc -Wno-null-pointer-arithmetic \
        -- "$shim"/*.c
    # A program's own headers come first: those of gnulib wrap the system's, which are ours.
    cat >.bin/shim-cc <<END
#!/bin/sh
objects='$PWD/shim.objects/*.o'
for a; do case \$a in -c | -E | -S | -M | -MM | -v | -V | --version | -print*) objects= ;; esac; done
exec wasm-cc ${shim_flags[*]} \$objects "\$@" -I$shim/include
END
    chmod +x .bin/shim-cc
}

# The answers of config.site spare thousands of little compilations.
gnu_configure() {
    local folder=$1
    shift
    CONFIG_SITE=$shim/config.site FORCE_UNSAFE_CONFIGURE=1 "$folder/configure" \
        --host=wasm32-unknown-wasi --build="$(uname -m)-pc-linux-gnu" CC=shim-cc AR=wasm-ar \
        RANLIB=wasm-ranlib CFLAGS=-O2 --disable-nls --disable-threads --disable-year2038 \
        --disable-dependency-tracking --cache-file=config.cache "$@"
}

# built_sources [FOLDER]: the headers that a Makefile makes; only `make all` would wait for them.
built_sources() {
    printf 'include Makefile\nbuilt-sources: $(BUILT_SOURCES)\n' >"${1:-.}/built.mk"
    make -C "${1:-.}" -f built.mk built-sources
}
