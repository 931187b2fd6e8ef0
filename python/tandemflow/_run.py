"""Runs a program that may use IPython's %timeit: python -m tandemflow._run FILE [ARGUMENT…]"""
import math
import os
import re
import sys
import timeit
import types

_MAGIC = re.compile(r"^(\s*)%timeit\b[ \t]*(.*)$")
_OPTION = re.compile(r"^-(n|r)\s*(\d+)\s+")


def format_time(seconds):
    """As IPython: three digits and the unit that suits."""
    if seconds >= 60:
        parts, rest = [], seconds
        for suffix, length in [("d", 86400), ("h", 3600), ("min", 60), ("s", 1)]:
            count, rest = int(rest / length), rest % length
            if count:
                parts.append(f"{count}{suffix}")
        return " ".join(parts)
    order = min(-int(math.floor(math.log10(seconds)) // 3), 3) if seconds > 0 else 3
    return f"{seconds * 1000**order:.3g} {['s', 'ms', 'µs', 'ns'][order]}"


def time_statement(statement, namespace):
    """What %timeit does: prints mean and deviation of several runs."""
    number, repeat = 0, 7
    while option := _OPTION.match(statement):
        number, repeat = (int(option[2]), repeat) if option[1] == "n" else (number, int(option[2]))
        statement = statement[option.end() :]
    timer = timeit.Timer(statement, globals=namespace)
    if number == 0:
        for exponent in range(10):
            number = 10**exponent
            if timer.timeit(number) >= 0.2:
                break
    times = [t / number for t in timer.repeat(repeat, number)]
    best, worst = min(times), max(times)
    if worst > 4 * best > 0 and worst > 1e-6:
        print(
            f"The slowest run took {worst / best:0.2f} times longer than the fastest. "
            "This could mean that an intermediate result is being cached."
        )
    mean = math.fsum(times) / len(times)
    deviation = (math.fsum((t - mean) ** 2 for t in times) / len(times)) ** 0.5
    runs, loops = "s" * (repeat != 1), "s" * (number != 1)
    print(
        f"{format_time(mean)} ± {format_time(deviation)} per loop "
        f"(mean ± std. dev. of {repeat} run{runs}, {number:,} loop{loops} each)"
    )


def translate(source):
    """%timeit lines as calls; every other line as it is, so that line numbers stay."""
    lines = []
    for line in source.split("\n"):
        magic = _MAGIC.match(line)
        if magic:
            call = "__import__('tandemflow._run')._run.time_statement"
            line = f"{magic[1]}{call}({magic[2]!r}, {{**globals(), **locals()}})"
        lines.append(line)
    return "\n".join(lines)


def compile_file(path):
    with open(path, "rb") as file:
        source = file.read()
    try:
        return compile(source, path, "exec")
    except SyntaxError as error:
        text = source.decode("utf-8")
        if not any(_MAGIC.match(line) for line in text.split("\n")):
            raise error
    return compile(translate(text), path, "exec")


def main(arguments):
    if not arguments:
        print("usage: python -m tandemflow._run FILE [ARGUMENT…]", file=sys.stderr)
        return 2
    path = arguments[0]
    sys.argv = list(arguments)
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    module = types.ModuleType("__main__")
    module.__file__ = path
    sys.modules["__main__"] = module
    exec(compile_file(path), module.__dict__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
