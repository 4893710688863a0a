"""Python's own tests (Debian's libpython3.13-testsuite), to be run in Linux machines."""
import re
import xml.etree.ElementTree as xml

from machine import SYSROOT, Job

FOLDER = SYSROOT / "usr/lib/python3.13/test"
# Data that only a test has which is not in a list below, or that is given with its name.
LARGE = {"decimaltestdata": "test_decimal", "wheeldata": None, "tkinterdata": None,
         "levenshtein_examples.json": None, "certdata": "test_ssl", "crashers": None}
# Those of `./check`; all the others take minutes.
SOON = ["test_struct", "test_int", "test_float"]
MODULES = """
    test_struct test_cmath test_int test_float test_math test_zlib test_signal test_long
    test_json test_re test_hashlib test_threading test_subprocess test_wait4
    test_array test_ast test_atexit test_audit test_base64 test_binascii test_bisect test_bool
    test_bufio test_bytes test_bz2 test_calendar test_cmd_line test_codecs test_collections
    test_compile test_complex test_configparser test_context test_contextlib test_copy
    test_coroutines test_csv test_ctypes test_datetime test_decimal test_deque
    test_dict test_difflib test_dis test_enum test_enumerate test_eof test_epoll
    test_exceptions test_faulthandler test_fcntl test_file test_fileio
    test_fnmatch test_fork1 test_format test_fractions test_fstring test_functools test_gc
    test_generators test_genericpath test_getpass test_glob test_gzip test_hash test_heapq
    test_hmac test_html test_importlib test_inspect test_io test_ipaddress test_itertools
    test_keyword test_list test_logging test_lzma test_memoryview test_minidom test_mmap
    test_numeric_tower test_opcodes test_operator test_ordered_dict test_os test_pathlib
    test_pickle test_poll test_popen test_posix test_posixpath test_pow test_pprint
    test_property test_pty test_pwd test_queue test_quopri test_random test_range test_readline
    test_reprlib test_resource test_richcmp test_sched test_scope test_secrets test_select
    test_selectors test_set test_shelve test_shlex test_shutil test_slice test_sort test_sqlite3
    test_statistics test_strftime test_string test_strtod test_super test_symtable
    test_sys test_tarfile test_tempfile test_termios test_textwrap test_thread 
    test_time test_timeit test_tokenize test_tomllib test_trace test_traceback test_tuple
    test_types test_ucn test_unicode_file test_unicodedata test_unpack test_urlparse test_userdict
    test_uuid test_wait3 test_weakref test_with test_xml_etree test_zipapp test_zipfile
    test_zipimport test_zoneinfo""".split()


def there(names):
    """Those that this Python has, each once."""
    return [name for name in dict.fromkeys(names)
            if (FOLDER / name).is_dir() or (FOLDER / f"{name}.py").exists()]


def with_needed(names):
    """The tests' modules, and those of other tests that they import."""
    found, asked = set(), list(names)
    while asked:
        name = asked.pop()
        if name not in found:
            found.add(name)
            for path in [FOLDER / f"{name}.py", *(FOLDER / name).rglob("*.py")]:
                if path.exists():
                    asked += re.findall(r"\btest(?:\.| import )(test_\w+)", path.read_text())
    return found


def job(names):
    """Runs them, each in a process of its own."""
    wanted, files = with_needed(names), {}
    for path in sorted(FOLDER.rglob("*")):
        parts = path.relative_to(FOLDER).parts
        top = parts[0].removesuffix(".py")
        if "__pycache__" in parts or not path.is_file() or top in LARGE and LARGE[top] not in wanted:
            continue
        if not top.startswith("test_") or top in wanted:
            files["test/" + "/".join(parts)] = path
    lines = [f"python3 -m test --junit-xml out/{name}.xml {name}; echo {name} $?" for name in names]
    return Job("export PYTHONPATH=$PWD TMPDIR=/tmp HOME=/tmp\n" + "\n".join(lines), files)


def results(name, files):
    """{test: "passed", "failed" or "skipped"} of a module's; None: it has told nothing."""
    if f"{name}.xml" not in files:
        return None
    told = {}
    for case in xml.fromstring(files[f"{name}.xml"]).iter("testcase"):
        inside = {child.tag for child in case}
        told[case.get("name")] = ("failed" if inside & {"failure", "error"} else
                                  "skipped" if "skipped" in inside else "passed")
    return told
