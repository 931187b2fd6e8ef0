"""Programs written for TensorFlow run with nothing changed but the import."""
import re
import sys

import pytest

from tandemflow import _run


def test_a_matrix_multiplication_is_timed_on_the_device_there_is(run_program):
    lines = run_program("matmul_timing.py")
    assert lines[0] in ("GPU is available. Using GPU.", "GPU is not available. Using CPU.")
    device = "/GPU:0" if "GPU is available" in lines[0] else "/CPU:0"
    assert re.fullmatch(rf"Matrix multiplication time on {device}: \d+\.\d{{4}} seconds", lines[1])


def test_ops_in_device_scopes_give_their_results(run_program):
    assert run_program("device_placement.py") == ["CPU result: 6", "GPU result: 15"]


def test_a_program_with_timeit_prints_ipythons_line(run_program):
    lines = run_program("missing_kernel.py")
    assert re.fullmatch(r"Num GPUs Available:  \d+", lines[0])
    assert lines[1].startswith("/job:localhost/replica:0/task:0/device:")
    unit = r"[\d.e+]+ (s|ms|µs|ns)"
    loop = rf"{unit} ± {unit} per loop \(mean ± std\. dev\. of 7 runs, [\d,]+ loops? each\)"
    assert re.fullmatch(loop, lines[-1]), lines


@pytest.mark.parametrize(
    "seconds, text",
    [(2.51e-9, "2.51 ns"), (1.5e-6, "1.5 µs"), (0.0123, "12.3 ms"), (3.0, "3 s"), (0.0, "0 ns"), (75.0, "1min 15s")],
)
def test_times_read_as_in_ipython(seconds, text):
    assert _run.format_time(seconds) == text


def test_only_timeit_lines_are_translated_and_lines_keep_their_numbers():
    source = "x = 5\nif x:\n    %timeit -n3 -r2 x + 1  # comment\ny = x % 3"
    lines = _run.translate(source).split("\n")
    assert lines[0] == "x = 5" and lines[3] == "y = x % 3"
    assert lines[2].startswith("    __import__")
    compile(_run.translate(source), "program", "exec")


def test_timeit_sees_local_names(capsys, tmp_path):
    program = tmp_path / "p.py"
    program.write_text("def f():\n    local = 2\n    %timeit -n3 -r2 local + 1\nf()\nimport sys\nprint(sys.argv[1:], __name__)\n")
    old_argv, old_path, old_main = sys.argv, list(sys.path), sys.modules["__main__"]
    try:
        _run.main([str(program), "a", "b"])
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = old_argv, old_path, old_main
    out = capsys.readouterr().out
    assert "of 2 runs, 3 loops each)" in out and "['a', 'b'] __main__" in out
