"""Runs every kind of test there is and adds up the results; scripts/test calls it once everything is built.

    run.py [--asan | --tsan | --oclgrind | --cuda] [FILTER…]
"""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# OpenCL drivers compile kernels with a compiler of their own, which no sanitizer sees and which leaks at exit;
# `scripts/test --asan OpenCl` runs them all the same.
WITHOUT_DRIVERS = "-*OpenCl*:Devices*"
# ThreadSanitizer keeps several bytes for each byte that was touched: what a process holds says nothing.
WITHOUT_SHADOWS = ":*StaysWithinTheBudget"
# A child finds the locks of AddressSanitizer's allocator as other threads had them when it was forked, and waits for ever
# (GCC 12; seen in the stack of a worker that starts in the child).
WITHOUT_FORKS = ":Cores.AForkedProcess*"
OCLGRIND_SHARDS = 4  # of each style: none of them long, so that the cores end together
# How a device may run the kernels: as a GPU, as a CPU-type device, and as one whose registers hold sixteen floats. The last one differs
# from the second in how vectors are loaded and stored, which some ops show as well as all.
OCLGRIND_STYLES = {"gpu": ("gpu", "8", [""]), "cpu": ("cpu", "8", [""]),
                   "wide cpu": ("cpu", "16", ["/add", "/exp", "/cast", "/select", "/matmul", "/conv2d", "/apply_adam"])}
# Suites that use one core, the OpenCL driver's compiler among them, and look at no clock: a process for each of two.
SIDE_BY_SIDE = "*OpenClConformance*:DevicesFusion*:DevicesPasses*:OpenClClblast*:OpenClLanes*:Ops/*:Models/*:Targets/*"
# Python's tests of how fast something is or how busy the machine is; all others run in two processes at once.
ALONE = ["python/test_adaptation.py", "python/test_names.py", "cli/test_calibrate.py"]
# The suites that use several threads: what ThreadSanitizer looks at.
THREADED = (
    "*Threads*:*Lanes*:*Cores*:*Eager*:*EventSink*:*Decision*:*Pool*:*Variable*:*Library*:DatasetThreads*"
    ":RunAhead.*:Commit.*:Meanwhile.*:Departure.*:Mirrored*:Replicas.*:OwnStepsInReplicas.*:Placer.*"
)
# Of the driver's suites it looks at those in which several threads use a GPU: our side of the driver is instrumented.
THREADED_DRIVERS = "Devices.SeveralThreads*:OpenCl.SeveralThreads*:OpenClSharedMemory.SeveralThreads*:OpenContexts.Rest*"


class Tally:
    """How many tests passed or were skipped, and which failed."""

    def __init__(self):
        self.passed = 0
        self.skipped = 0
        self.failed = []
        self.lock = threading.Lock()  # processes are read side by side

    def add(self, ok, name):
        with self.lock:
            if ok:
                self.passed += 1
            else:
                self.failed.append(name)

    def skip(self):
        with self.lock:
            self.skipped += 1

    def text(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {len(self.failed)} failed{skipped}"


def heading(text):
    print(f"\n{text}", flush=True)


def sanitizer_environment(sanitizer):
    """Suppressions name third-party libraries only."""
    folder = ROOT / "tests" / "sanitizer"
    environment = dict(os.environ)
    if sanitizer == "--asan":
        environment["ASAN_OPTIONS"] = "detect_leaks=1:detect_stack_use_after_return=1"
        environment["LSAN_OPTIONS"] = f"suppressions='{folder / 'leaks.txt'}':print_suppressions=0"
        environment["UBSAN_OPTIONS"] = "print_stacktrace=1"
    if sanitizer == "--tsan":
        # ignore_noninstrumented_modules: libgomp and oneDNN synchronise in ways the tool cannot see.
        # die_after_fork: children of tests of forks start threads.
        # detect_deadlocks: a step holds the locks of all its variables, and the tool breaks off at the 64th.
        environment["TSAN_OPTIONS"] = (
            f"suppressions='{folder / 'threads.txt'}':ignore_noninstrumented_modules=1:die_after_fork=0:detect_deadlocks=0:halt_on_error=0"
        )
    return environment


def without_address_randomisation():
    """ThreadSanitizer cannot start where the kernel spreads addresses too widely."""
    prefix = ["setarch", "-R"]
    return prefix if subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL).returncode == 0 else []


def run_shards(program, gtest_filter, tally, shards=2):
    """Runs the tests in several processes at once."""
    environments = [{"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(index)} for index in range(shards)]
    threads = [threading.Thread(target=run_gtest, args=(program, gtest_filter, "", tally, environment)) for environment in environments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_gtest(program, gtest_filter, sanitizer, tally, more=()):
    """Shows a line a suite, and the whole output of a test that fails."""
    command = [str(program), "--gtest_color=no"]
    if sanitizer == "--tsan":
        command = without_address_randomisation() + command
    if gtest_filter:
        command.append(f"--gtest_filter={gtest_filter}")
    environment = sanitizer_environment(sanitizer) | dict(more)
    environment.setdefault("TANDEM_DUMP_KERNELS", str(ROOT / "build" / "kernels"))  # for tests/cuda
    process = subprocess.Popen(
        command, env=environment, cwd=ROOT, text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    running, output = None, []
    for line in process.stdout:
        if match := re.match(r"\[ RUN      \] (\S+)", line):
            running, output = match[1], []
        elif running and (match := re.match(r"(.*)\[ +(OK|FAILED|SKIPPED) +\] (\S+?),? ", line)) and match[3] == running:
            ok = match[2] == "OK" and not any("WARNING: ThreadSanitizer" in text for text in output)
            if not ok and match[2] != "SKIPPED":
                print(f"  FAILED {running}\n" + "".join(f"    {text}" for text in output), flush=True)
            if match[2] == "SKIPPED":
                tally.skip()
            else:
                tally.add(ok, running)
            running, output = None, []
        elif match := re.match(r"\[-+\] (\d+) tests? from (\S+).* \((\d+) ms total\)", line):
            print(f"  {match[2]}: {match[1]} tests, {int(match[3]) / 1000:.2f} s", flush=True)
        else:
            output.append(line)
    code = process.wait()
    if running:
        print(f"  CRASHED {running}\n" + "".join(f"    {text}" for text in output), flush=True)
        tally.add(False, f"{running} (crashed)")
    elif code != 0 and not tally.failed:  # a sanitizer's report at exit, or a missing library
        print("".join(f"    {text}" for text in output), flush=True)
        tally.add(False, f"{program.name} (exit code {code})")


def run_oclgrind(program, filters, tally):
    """The OpenCL kernels on Oclgrind's simulated device, as a GPU and as CPU-type devices run them.

    It writes what it finds (accesses out of bounds, races, divergent barriers) into a log; its own exit may crash.
    Kernels are not optimised: Oclgrind 21.10 widens vectors of single bits wrongly. Other drivers are hidden: PoCL's
    compiler and Oclgrind's do not get on in one process.
    """
    if not shutil.which("oclgrind"):
        tally.add(False, "oclgrind is not installed; run scripts/setup")
        return
    shards = 1 if filters else OCLGRIND_SHARDS
    pieces = [(style, shard) for style in OCLGRIND_STYLES for shard in range(shards)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # one simulation uses one core
        for piece, result in zip(pieces, pool.map(lambda piece: oclgrind_piece(program, filters, *piece, shards), pieces)):
            tally_oclgrind(*piece, *result, tally)


def oclgrind_piece(program, filters, style, shard, shards):
    """One process under Oclgrind: what it wrote, and what Oclgrind found."""
    kernels, lanes, ops = OCLGRIND_STYLES[style]
    gtest_filter = ":".join(f"*OpenClConformance*{word}*" for word in filters or ops)
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "findings"
        environment = dict(os.environ, TANDEM_OPENCL_STYLE=kernels, TANDEM_OPENCL_LANES=lanes, TANDEM_PROGRAM_CACHE="0", OCL_ICD_VENDORS=scratch,
                           GTEST_TOTAL_SHARDS=str(shards), GTEST_SHARD_INDEX=str(shard))
        output = subprocess.run(["oclgrind", "--data-races", "--build-options", "-cl-opt-disable", "--log", log, program, f"--gtest_filter={gtest_filter}"],
                                env=environment, cwd=ROOT, text=True, errors="replace", capture_output=True).stdout
        return output, log.read_text(errors="replace") if log.exists() else ""


def tally_oclgrind(style, shard, output, findings, tally):
    names = re.findall(r"\[       OK \] (\S+)", output)
    failed = sorted(set(re.findall(r"\[  FAILED  \] (\S+?),? ", output)))
    print(f"  {style} style, part {shard + 1}: {len(names)} tests, {findings.count('Kernel:')} findings", flush=True)
    tally.passed += len(names)
    for name in failed:
        tally.add(False, f"{name} ({style} style, oclgrind)")
    if not names or "[  PASSED  ]" not in output and not failed:
        print(output[-2000:])
        tally.add(False, f"tandem_tests under oclgrind ({style} style, part {shard + 1})")
    if findings.strip():
        print(findings[:6000])
        tally.add(False, f"oclgrind's findings ({style} style, part {shard + 1})")


def run_pytest(folders, filters, tally):
    alone = [ROOT / "tests" / name for name in ALONE]
    pytest(["-n", "2", "--dist", "loadfile", *(f"--ignore={path}" for path in alone), *folders], filters, tally)
    pytest(alone, filters, tally)


def pytest(words, filters, tally):
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "build" / "python"))
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *map(str, words)]
        if filters:
            command += ["-k", " or ".join(filters)]
        code = subprocess.run(command, cwd=ROOT, env=environment).returncode
        if not report.exists():
            tally.add(False, f"pytest (exit code {code})")
            return
        cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    for case in cases:
        if case.find("skipped") is not None:
            tally.skip()
            continue
        ok = case.find("failure") is None and case.find("error") is None
        tally.add(ok, f"{case.get('classname')}.{case.get('name')}")
    if code not in (0, 1, 5):  # 5: the filter left no test
        tally.add(False, f"pytest (exit code {code})")


def run_install(tally):
    result = subprocess.run([ROOT / "tests" / "install" / "run"])
    tally.add(result.returncode == 0, "install: a consumer project builds against the installed package")


def report(tally, start):
    if tally.failed:
        print("\nFailed:")
        for name in tally.failed:
            print(f"  {name}")
    print(f"\n{tally.text()} ({time.monotonic() - start:.0f} s)")
    return 1 if tally.failed or not tally.passed else 0


@contextlib.contextmanager
def own_figures():
    """Where ops run depends on what is known of the machine: tests do not learn from other programs, nor teach them. Compiled kernels
    are shared with them."""
    shared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tandem").mkdir()
        for part in ("tandem/opencl", "pocl"):
            (shared / part).mkdir(parents=True, exist_ok=True)
            (Path(folder) / part).symlink_to(shared / part)
        os.environ["XDG_CACHE_HOME"] = folder
        yield


def main():
    with own_figures():
        return run_tests()


def run_tests():
    start = time.monotonic()
    sanitizers = [word for word in sys.argv[1:] if word in ("--asan", "--tsan")]
    filters = [word for word in sys.argv[1:] if not word.startswith("-")]
    sanitizer = sanitizers[-1] if sanitizers else ""
    folder = ROOT / ("build" + sanitizer.replace("--", "-"))
    default = {"": "", "--asan": "*" + WITHOUT_DRIVERS + WITHOUT_FORKS, "--tsan": THREADED + WITHOUT_DRIVERS + WITHOUT_SHADOWS}[sanitizer]
    gtest_filter = ":".join(f"*{word}*" for word in filters) or default

    tally = Tally()
    if "--oclgrind" in sys.argv[1:]:
        heading("OpenCL kernels under Oclgrind")
        run_oclgrind(ROOT / "build" / "tandem_tests", filters, tally)
        return report(tally, start)
    if not filters:
        shutil.rmtree(ROOT / "build" / "kernels", ignore_errors=True)
    heading(f"C++ tests ({folder.name}/tandem_tests)")
    if gtest_filter:
        run_gtest(folder / "tandem_tests", gtest_filter, sanitizer, tally)
        if sanitizer == "--tsan" and not filters:
            run_gtest(folder / "tandem_tests", THREADED_DRIVERS, sanitizer, tally)
    else:
        run_shards(folder / "tandem_tests", SIDE_BY_SIDE, tally)
        run_gtest(folder / "tandem_tests", f"-{SIDE_BY_SIDE}", sanitizer, tally)
    if sanitizer:
        print(f"\nNot run with {sanitizer}: Python, command line, repository and install tests, and those of the OpenCL driver.")
    else:
        heading("Python, command line and repository tests (pytest)")
        run_pytest([folder for name in ("python", "cli", "cuda", "bench", "repo") if (folder := ROOT / "tests" / name).exists()], filters, tally)
        if not filters or "install" in filters:
            heading("Install test (tests/install)")
            run_install(tally)

    return report(tally, start)


if __name__ == "__main__":
    sys.exit(main())
