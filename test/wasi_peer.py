"""wasmtime's own WASI, from its Python package: the other side of test_wasi.py and of
bench/run files.

    wasi_peer.py MODULE [GUEST=HOST]... -- ARGS...

Runs the module with our standard streams and environment; ends with its exit code."""
import os
import sys

import wasmtime


def main():
    engine = wasmtime.Engine()
    module = wasmtime.Module.from_file(engine, sys.argv[1])
    linker, store, config = wasmtime.Linker(engine), wasmtime.Store(engine), wasmtime.WasiConfig()
    linker.define_wasi()
    words = sys.argv.index("--")
    for mount in sys.argv[2:words]:
        guest, host = mount.split("=", 1)
        config.preopen_dir(host, guest)
    config.argv = sys.argv[words + 1:]
    config.env = list(os.environ.items())
    config.inherit_stdin()
    config.inherit_stdout()
    config.inherit_stderr()
    store.set_wasi(config)
    try:
        linker.instantiate(store, module).exports(store)["_start"](store)
    except wasmtime.ExitTrap as end:
        return end.code
    return 0


sys.exit(main())
