"""Programs by others in the Linux machine: their output must equal that under qemu.
CLOCHE_PROGRAMS=deep runs many more of them (make deep); CLOCHE_MACHINE=Native runs them in
build/vm-native, the same machine without Wasm."""
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor

import machine_applets
import machine_python
import pytest
from machine import PEERS, ROOT, SYSROOT, Cloche, Job, Native, Qemu, libraries_of, native, qemu_user
from machine_doors import needs_image

pytestmark = needs_image
DEEP = os.environ.get("CLOCHE_PROGRAMS") == "deep"
ZIG = ROOT / "build" / "deps" / "zig"
BUSYBOX = SYSROOT / "usr" / "bin" / "busybox"


@pytest.fixture(scope="module")
def machine(cloche, tmp_path_factory):
    if os.environ.get("CLOCHE_MACHINE") != "Native":
        yield Cloche(cloche)
        return
    with Native(tmp_path_factory.mktemp("native")) as native:
        yield native


# --- C programs made at random --------------------------------------------------------------

# Some made programs compute for minutes; these end soon.
SEEDS = range(1, 1001) if DEEP else range(1, 33)
SECONDS = 5
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")


def made_program(seed, folder):
    """The program of a seed, compiled for riscv64, and its output under qemu-user; None if it does
    not end. Those with even seeds use floating point too."""
    source, program = folder / f"{seed}.c", folder / f"p{seed}"
    subprocess.run(native("csmith", "--seed", seed, *["--float"] * (seed % 2 == 0), "-o", source),
                   check=True, cwd=folder)
    subprocess.run([ZIG, "cc", "-target", "riscv64-linux-musl", "-static", "-s", "-w",
                    "-fno-sanitize=undefined", LEVELS[seed % len(LEVELS)], "-I",
                    PEERS / "native/usr/include/csmith", source, "-o", program], check=True)
    try:
        done = subprocess.run(qemu_user(program), capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None
    assert done.returncode == 0 and b"checksum = " in done.stdout, (seed, done)
    return program, done.stdout


def test_programs_that_csmith_made_compute_what_they_do_under_qemu(machine, tmp_path):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = dict(zip(SEEDS, pool.map(lambda seed: made_program(seed, tmp_path), SEEDS)))
    made = {seed: one for seed, one in made.items() if one}
    assert len(made) > 0.8 * len(SEEDS)
    for batch in (list(made)[at:at + 100] for at in range(0, len(made), 100)):
        job = Job("for p in p*; do ./$p >out/$p; done", {f"p{s}": made[s][0] for s in batch})
        printed = machine.outcome(job)
        differing = [seed for seed in batch if printed[f"p{seed}"] != made[seed][1]]
        assert differing == []


# --- busybox ---------------------------------------------------------------------------------

def write_files(folder):
    for name, contents in machine_applets.FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents)


def applet_by_qemu(number, words, stdin, place):
    """{name: bytes} of its output, exit code and files."""
    folder = place / str(number)
    write_files(folder)
    source = open(folder / stdin, "rb") if stdin else subprocess.DEVNULL
    done = subprocess.run(qemu_user(BUSYBOX, *words), stdin=source, capture_output=True, cwd=folder,
                          env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}, umask=0o022, timeout=60)
    return {"stdout": done.stdout, "stderr": done.stderr, "exit": b"%d\n" % done.returncode,
            **{f"f/{p.relative_to(folder)}": p.read_bytes() for p in folder.rglob("*")
               if p.is_file() and not p.is_symlink()}}


def test_applets_of_busybox_do_what_they_do_under_qemu(machine, tmp_path):
    cases = list(enumerate(machine_applets.cases()))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wanted = list(pool.map(lambda c: applet_by_qemu(c[0], *c[1], tmp_path), cases))
    script = "umask 022; export LC_ALL=C.UTF-8 PATH=/usr/bin:/bin; here=$PWD\n"
    for number, (words, stdin) in cases:
        script += (f"mkdir out/{number}; cp -R in out/{number}/f; cd out/{number}/f; "
                   f"$here/busybox {shlex.join(words)} <{stdin or '/dev/null'} "
                   f">../stdout 2>../stderr; echo $? >../exit; cd $here\n")
    files = {f"in/{name}": contents for name, contents in machine_applets.FILES.items()}
    got = machine.outcome(Job(script, {**files, "busybox": BUSYBOX}))
    differing = {}
    for number, (words, _) in cases:
        ours = {name.removeprefix(f"{number}/"): data for name, data in got.items()
                if name.startswith(f"{number}/")}
        if ours != wanted[number]:
            differing[shlex.join(words)] = {
                name: (ours.get(name), wanted[number].get(name))
                for name in ours.keys() | wanted[number].keys()
                if ours.get(name) != wanted[number].get(name)}
    assert differing == {}


# --- stress-ng --------------------------------------------------------------------------------

# What each checks of its own work, and how much of it is done.
STRESSORS = {"cpu": 40, "matrix": 20, "vm": 200, "str": 20, "memcpy": 5, "fork": 30, "pipe": 2000,
             "switch": 5000, "qsort": 1, "hash": 20, "crypt": 1, "futex": 2000, "bsearch": 1}
# All others run for a second each in `make deep`; but not these, and why.
NOT_HERE = {
    "fpunch",  # finds in a hole what its own children write there; under qemu too
    "netlink-task", "physpage", "swap",  # ask for what this kernel has not, and do not skip
}
STRESS_NG = SYSROOT / "usr/bin/stress-ng"
SKIPS_OR_PASSES = b"0\n", b"3\n", b"4\n"  # 3, 4: this machine has not what it needs


def stressors():
    """{name: how much of it}"""
    few = {name: f"--{name}-ops {count} -t 60" for name, count in STRESSORS.items()}
    if not DEEP:
        return few
    told = subprocess.run(qemu_user(STRESS_NG, "--stressors"), capture_output=True, check=True)
    return {name: "-t 1" for name in told.stdout.decode().split() if name not in NOT_HERE} | few


def stress(machine, chosen):
    """{name: what it said} of those that failed. What this kernel lacks is skipped."""
    libraries = {name: path for name, path in libraries_of(STRESS_NG).items()
                 if not name.startswith(("libc.", "libm.", "ld-"))}  # the machine has its own
    lines = [f"timeout 900 ./stress-ng --verify --no-rand-seed --temp-path /tmp --{name} 1 {much} "
             f">out/{name} 2>&1; echo $? >out/{name}.exit" for name, much in chosen.items()]
    files = {"stress-ng": STRESS_NG, **{f"lib/{name}": path for name, path in libraries.items()}}
    got = machine.outcome(Job("export LD_LIBRARY_PATH=$PWD/lib\n" + "\n".join(lines), files))
    failed = {}
    for name in chosen:
        said = got[name].decode()
        passed = f"passed: 1: {name} (1)" in said or (name not in STRESSORS and "failed: 0" in said)
        if not passed or got[f"{name}.exit"] not in SKIPS_OR_PASSES:
            failed[name] = said
    return failed


def test_what_stress_ng_verifies_holds(machine):
    chosen, failed = list(stressors().items()), {}
    for at in range(0, len(chosen), 15):
        failed |= stress(machine, dict(chosen[at:at + 15]))
    assert failed == {}


# --- Python's own tests -----------------------------------------------------------------------

@pytest.fixture
def qemu(tmp_path):
    place = tmp_path / "qemu"
    place.mkdir()
    with Qemu(place) as whole:
        yield whole


def test_pythons_own_tests_end_as_they_do_under_qemu(machine, qemu):
    names = machine_python.there(machine_python.MODULES if DEEP else machine_python.SOON)
    differing = {}
    for batch in (names[at:at + 10] for at in range(0, len(names), 10)):
        job = machine_python.job(batch)
        ours, theirs = machine.outcome(job), qemu.outcome(job)
        for name in batch:
            mine, wanted = (machine_python.results(name, files) for files in (ours, theirs))
            if mine != wanted:
                differing[name] = {test: (mine or {}).get(test, "no result") + ", not " +
                                   (wanted or {}).get(test, "no result")
                                   for test in {**(mine or {}), **(wanted or {})}
                                   if (mine or {}).get(test) != (wanted or {}).get(test)}
    assert differing == {}
