#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the tests for other machines and compilers, and prints what each did.

    portability.py [--all] [TARGET...]    all targets, or those that are named
    portability.py --targets              their names
    portability.py --needs TARGET         COMMAND:PACKAGE of what it needs of Debian
    portability.py --self                 holds what is read from reports against known ones

--all builds every test of core, schedule, store, plan and run, not those of short.txt alone. For each target a line of a
table is printed; docs/portability.md has the same targets. What a target lacks is said, and it is left out.
"""
import argparse
import collections
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "scripts"))
from running import told  # noqa: E402
BUILD = ROOT / "build" / "portability"
ZIG = "ziglang==0.17.1"
SECONDS = 1800  # for one program, emulated

@dataclasses.dataclass
class Target:
    """A machine, and what compiles for it."""
    machine: str
    compiler: list          # the command
    needs: list = dataclasses.field(default_factory=list)  # COMMAND:PACKAGE
    flags: str = ""
    link: str = ""
    system: str = ""        # CMAKE_SYSTEM_NAME of another one
    emulator: list = dataclasses.field(default_factory=list)
    runs: bool = True
    libcxx: str = ""        # the version of Debian's libc++ to use
    zig: bool = False
    suffix: str = ""
    remark: str = ""


def gnu(machine, triple, qemu, flags=""):
    needs = [f"{triple}-g++:g++-{triple}"] + ([f"qemu-{qemu}-static:qemu-user-static"] if qemu else [])
    return Target(machine, [f"{triple}-g++"], needs, flags, "-static", "Linux", [f"qemu-{qemu}-static"] if qemu else [],
                  remark="qemu-user, linked statically" if qemu else "linked statically")


def clang(version, libcxx=False):
    return Target("x86-64 Linux", [f"clang++-{version}"], [f"clang++-{version}:clang-{version}"],
                  libcxx=str(version) if libcxx else "")


def zig(machine, triple, flags="", needs=(), **more):  # by itself it calls a sanitizer whose library it does not link
    return Target(machine, ["c++", "-target", triple], [*needs], f"-fno-sanitize=undefined {flags}", zig=True,
                  system="Generic", **more)


WINE = "/usr/lib/wine/wine64"
TARGETS = {
    "gcc": Target("x86-64 Linux", ["g++"], ["g++:g++"]),
    "two-words": Target("x86-64 Linux", ["g++"], ["g++:g++"], "-DCAIRN_HAS_INT128=0", remark="`wide` of two words"),
    "clang-16": clang(16),
    "clang-16-libc++": clang(16, True),
    "clang-19": clang(19),
    "clang-19-libc++": clang(19, True),
    "i386": gnu("i386 Linux, 32 bits", "i686-linux-gnu", "", "-msse2 -mfpmath=sse"),
    "aarch64": gnu("aarch64 Linux", "aarch64-linux-gnu", "aarch64"),
    "riscv64": gnu("riscv64 Linux", "riscv64-linux-gnu", "riscv64"),
    "s390x": gnu("s390x Linux, big-endian", "s390x-linux-gnu", "s390x"),
    "mingw": Target("x86-64 Windows", ["x86_64-w64-mingw32-g++-posix"],
                    ["x86_64-w64-mingw32-g++-posix:g++-mingw-w64-x86-64-posix", f"{WINE}:wine64"], "-Wa,-mbig-obj",
                    "-static", "Windows", [WINE], remark="Wine, linked statically"),
    "zig": zig("x86-64 Linux", "x86_64-linux-musl", link="-static", remark="musl"),
    "zig-aarch64": zig("aarch64 Linux", "aarch64-linux-musl", link="-static", emulator=["qemu-aarch64-static"],
                       needs=["qemu-aarch64-static:qemu-user-static"], remark="musl, qemu-user"),
    "zig-windows": zig("x86-64 Windows", "x86_64-windows-gnu", emulator=[WINE], needs=[f"{WINE}:wine64"], suffix=".exe", remark="Wine"),
    # macOS's <math.h> takes a part of <float.h>, and libc++ 22 takes that for the whole header from then on.
    "zig-macos": zig("aarch64 macOS", "aarch64-macos", "-include float.h", runs=False,
                     remark="compiled and linked only: nothing here runs programs of macOS"),
}

class LeftOut(Exception):
    """Why a target cannot be had."""


def catch_header():
    """Catch2's header in a folder of its own: /usr/include is no place for compilers of other machines."""
    folder = BUILD / "catch2"
    header = pathlib.Path("/usr/include/catch2/catch.hpp")
    if not header.exists():
        raise LeftOut("no header of Catch2 2 (Debian 12: catch2), which is compiled for each machine")
    (folder / "catch2").mkdir(parents=True, exist_ok=True)
    shutil.copy2(header, folder / "catch2" / header.name)
    return folder


def libcxx(version):
    """libc++ of Debian in a folder of its own: its packages of two versions exclude each other, and libunwind-dev."""
    folder = BUILD / f"libc++-{version}"
    llvm = folder / "usr" / "lib" / f"llvm-{version}"
    if not (llvm / "include" / "c++" / "v1" / "vector").exists():
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise LeftOut(f"libc++-{version}-dev comes from Debian's apt-get, which is not here")
        folder.mkdir(parents=True, exist_ok=True)
        packages = [f"{name}-{version}{end}" for name, end in
                    (("libc++", "-dev"), ("libc++1", ""), ("libc++abi", "-dev"), ("libc++abi1", ""), ("libunwind", ""))]
        failed, said = told("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", *packages, cwd=folder)
        if failed:
            raise LeftOut(f"apt-get has no libc++-{version}-dev: {said.strip().splitlines()[-1]}")
        for package in sorted(folder.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    return llvm


def zig_command():
    failed, said = told(ROOT / "tests" / "support" / "pypi.sh", "portability", BUILD / "zig", ZIG)
    if failed:
        raise LeftOut(f"no {ZIG} of PyPI: {said.strip().splitlines()[-1]}")
    return str(BUILD / "zig" / "packages" / "ziglang" / "zig")


def settings(name, target):
    """CMake's arguments for a target, its compiler, and the environment of its programs."""
    lacking = [need.split(":") for need in target.needs if shutil.which(need.split(":")[0]) is None]
    if lacking:
        raise LeftOut("missing: " + ", ".join(f"{command} (Debian: {package})" for command, package in lacking))
    environment = dict(os.environ)
    compiler, flags, link = list(target.compiler), target.flags, target.link
    if target.zig:
        compiler.insert(0, zig_command())
        environment["ZIG_GLOBAL_CACHE_DIR"] = environment["ZIG_LOCAL_CACHE_DIR"] = str(BUILD / "zig-cache")
    if target.libcxx:
        llvm = libcxx(target.libcxx)
        flags += f" -nostdinc++ -isystem {llvm}/include/c++/v1"
        link += f" -stdlib=libc++ -L{llvm}/lib -Wl,-rpath,{llvm}/lib"
    if WINE in target.emulator:
        environment |= {"WINEPREFIX": str(BUILD / "wine"), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml="}
    arguments = [f"-DCMAKE_CXX_COMPILER={';'.join(compiler)}", f"-DCMAKE_CXX_FLAGS={flags.strip()}",
                 "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g0" + ("" if target.zig or target.libcxx else " -D_GLIBCXX_ASSERTIONS"),
                 f"-DCMAKE_EXE_LINKER_FLAGS={link.strip()}", f"-DCAIRN_CATCH_INCLUDE={catch_header()}"]
    if target.system:
        arguments += [f"-DCMAKE_SYSTEM_NAME={target.system}", f"-DCMAKE_SYSTEM_PROCESSOR={target.machine.split()[0]}"]
    if target.suffix:
        arguments += [f"-DCMAKE_EXECUTABLE_SUFFIX_CXX={target.suffix}"]
    return arguments, compiler + flags.split(), environment


def versions(command, environment):
    """The compiler and the standard library, as they name themselves."""
    said = subprocess.run([*command, "-std=c++20", "-dM", "-E", "-x", "c++", "-"], input="#include <version>\n",
                          text=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=False).stdout
    macros = collections.defaultdict(str, re.findall(r"^#define (\w+) (\d+)", said, re.M))
    name = f"g++ {macros['__GNUC__']}.{macros['__GNUC_MINOR__']}"
    if "__clang__" in macros:
        name = f"clang {macros['__clang_major__']}.{macros['__clang_minor__']}"
    library = f"libstdc++ {macros['_GLIBCXX_RELEASE']}"
    if "_LIBCPP_VERSION" in macros:
        library = f"libc++ {int(macros['_LIBCPP_VERSION']) // 10000}"
    return (f"zig {ZIG.split('==')[1]}, {name}" if command[0].endswith("zig") else name), library


def verdicts(report):
    """Of what Catch2 prints: cases that ran, the names of those that failed, and why others were skipped; nothing ran
    where there is no summary. Not of its XML, because that reporter allocates while tests count allocations."""
    passed = re.search(r"^All tests passed \(\d+ assertions? in (\d+) test cases?\)", report, re.M)
    of = re.search(r"^test cases: +(\d+) \|(?: +(\d+) passed)?", report, re.M)
    ran, fine = (int(passed[1]),) * 2 if passed else (int(of[1]), int(of[2] or 0)) if of else (0, 0)
    heads = re.findall(r"^-{79}\n(.*?)\n-{79}\n\S+:\d+\n\.{79}$", report, re.M | re.S)
    failed = list(dict.fromkeys(" ".join(line for line in head.split("\n") if line[:1] != " ") for head in heads))
    return ran, fine, failed, re.findall(r"cairn: skipped: (.*)", report)


def run_program(target, program, environment):
    try:
        return told(*target.emulator, program, "~[.]~[long]", cwd=ROOT, env=environment, timeout=SECONDS, errors="replace")
    except subprocess.TimeoutExpired as late:
        return "too slow", (late.stdout or b"").decode(errors="replace")


def build(folder, arguments, environment, everything):
    """The names of programs that could not be built."""
    configure = ["cmake", "--preset", "portability", "-B", str(folder), *arguments,
                 f"-DCAIRN_PORTABILITY={'ALL' if everything else 'SHORT'}"]
    failed, said = told(*configure, cwd=ROOT, env=environment)
    log = folder / "build.log"
    if failed:
        log.write_text(said)
        raise LeftOut(f"CMake cannot configure for it, see {log.relative_to(ROOT)}")
    goes_on = ["-k", "0"] if (folder / "build.ninja").exists() else ["-k"]
    said += told("cmake", "--build", folder, "--", *goes_on, cwd=ROOT, env=environment)[1]
    log.write_text(said)
    return [f"not built: {pathlib.PurePath(error).name}" for error in re.findall(r"^FAILED: (\S+)", said, re.M)]


def build_and_run(name, target, everything):
    """A line of the table, and what failed."""
    arguments, command, environment = settings(name, target)
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    failures = build(folder, arguments, environment, everything)
    suffix = target.suffix or (".exe" if target.system == "Windows" else "")
    names = (folder / "tests" / "programs.txt").read_text().split()
    programs = [path for path in (folder / "tests" / (name + suffix) for name in names) if path.exists()]
    ran = passed = 0
    skipped = collections.Counter()
    for program in programs if target.runs else []:
        status, report = run_program(target, program, environment)
        (folder / (program.name + ".txt")).write_text(report)
        of_program, fine, names, why_skipped = verdicts(report)
        skipped.update(why_skipped)
        ran += of_program - len(why_skipped)
        passed += fine - len(why_skipped)
        failures += [f"{program.name}: {case}" for case in names]
        if of_program == 0 or (status != 0 and not names):
            failures.append(f"{program.name} ended with {status}")
    remarks = [f"**{len(failures)} failed**: {', '.join(failures[:6])}" if failures else "",
               "" if target.runs else f"{len(programs)} programs", target.remark,
               *(f"skipped {count}: {reason}" for reason, count in sorted(skipped.items()))]
    return row(name, target, *versions(command, environment), ran, passed, "; ".join(filter(None, remarks))), failures


def row(name, target, *columns):
    return f"| `{name}` | {target.machine} | {' | '.join(map(str, columns))} |"


def self_test():
    line, dots = "-" * 79, "." * 79
    report = (f"{line}\na long name\nin two lines\n  a section\n"
              f"{line}\nx.cpp:7\n{dots}\n\nx.cpp:9: FAILED:\n  CHECK( a )\n"
              f"{line}\na long name\nin two lines\n{line}\nx.cpp:7\n{dots}\ncairn: skipped: no GPU\n{'=' * 79}\n"
              "test cases:  12 | 11 passed | 1 failed\nassertions: 9 | 7 passed | 2 failed\n")
    assert verdicts(report) == (12, 11, ["a long name in two lines"], ["no GPU"]), verdicts(report)
    assert verdicts("All tests passed (1 assertion in 1 test case)\n") == (1, 1, [], [])
    assert verdicts("terminated") == (0, 0, [], [])
    lines = (ROOT / "tests/portability/short.txt").read_text().splitlines()
    gone = [line for line in lines if line and line[0] != "#" and not (ROOT / "tests" / line).exists()]
    assert not gone, gone
    print("as it should be")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--all", "--self"):
        options.add_argument(flag, action="store_true")
    options.add_argument("--targets", action="store_true", dest="names")
    options.add_argument("--needs", metavar="TARGET", choices=TARGETS)
    options.add_argument("targets", nargs="*", metavar="TARGET")
    given = options.parse_args()
    if unknown := set(given.targets) - set(TARGETS):
        options.error(f"no target {' '.join(unknown)}; there are {' '.join(TARGETS)}")
    if given.self:
        return self_test()
    if given.names or given.needs:
        return print(*(TARGETS[given.needs].needs if given.needs else TARGETS))
    failed = False
    BUILD.mkdir(parents=True, exist_ok=True)
    print("| target | machine | compiler | library | run | passed | remarks |\n|---|---|---|---|---:|---:|---|")
    for name in given.targets or TARGETS:
        try:
            line, failures = build_and_run(name, TARGETS[name], given.all)
        except LeftOut as why:
            line, failures = row(name, TARGETS[name], "", "", 0, 0, f"left out: {why}"), []
        print(line, flush=True)
        failed = failed or bool(failures)
        for one in failures:
            print(f"portability: {name}: failed: {one}", file=sys.stderr)
    return failed


sys.exit(main())
