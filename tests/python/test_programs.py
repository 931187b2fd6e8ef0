"""Programs written for TensorFlow run with nothing changed but the import."""
import os
import re
import sys

import program_texts
import pytest

from tandemflow import _run


CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
LABELS = "tf.keras.utils.to_categorical(np.random.randint(0, 10, 640), 10)"
ROWS = f"import numpy as np\nx_train, y_train = np.random.rand(640, 784), {LABELS}\n"
SECONDS = r"\d+\.\d{4} seconds"

# Each program is run on a machine without a GPU and on one with two.
machines = pytest.mark.parametrize("gpus", [0, 2])


def device(gpus):
    return "/GPU:0" if gpus else "/CPU:0"


def found(gpus):
    return "GPU is available. Using GPU." if gpus else "GPU is not available. Using CPU."


def last_epoch(lines):
    """The last line that the progress bar left, without its colours."""
    return re.sub(r"\x1b\[\d+m|\x08", "", lines[-1]).split("\r")[-1]


@machines
def test_a_matrix_multiplication_is_timed_on_the_device_there_is(run_program, gpus):
    lines = run_program("matmul_timing.py", gpus=gpus)
    assert lines[0] == found(gpus)
    assert re.fullmatch(rf"Matrix multiplication time on {device(gpus)}: {SECONDS}", lines[1])


@machines
def test_data_is_loaded_on_the_cpu_and_goes_through_a_model(run_program, gpus):
    lines = run_program("loading_and_model.py", gpus=gpus)
    assert re.fullmatch(rf"CPU data loading and preprocessing time: {SECONDS}", lines[1])
    assert lines[2] == "Model processing complete"


@machines
def test_a_thread_computes_on_the_device(run_program, gpus):
    lines = run_program("threads_and_devices.py", gpus=gpus)
    assert lines[0] == found(gpus) and lines[-1] == "Asynchronous processing complete"
    assert re.fullmatch(rf"CPU preprocessing time: {SECONDS}", lines[1])
    assert re.fullmatch(rf"GPU computation time: {SECONDS}", lines[2])


@machines
def test_ops_in_device_scopes_give_their_results(run_program, gpus):
    assert run_program("device_placement.py", gpus=gpus) == ["CPU result: 6", "GPU result: 15"]


@machines
def test_arrays_are_prepared_and_fitted(run_program, gpus):
    small = {"100000, 100)": "2000, 100)", "10, 100000)": "10, 2000)"} if gpus else {}
    lines = run_program("preprocess_then_fit.py", gpus=gpus, instead=small)
    steps = 63 if gpus else 3125
    assert "Epoch 10/10" in lines
    assert re.search(rf"{steps}/{steps} ━+ .*/step - accuracy: 0\.\d{{4}} - loss: [12]\.\d{{4}}", last_epoch(lines)), lines[-1]


@machines
def test_a_model_is_mirrored_over_a_dataset(run_program, gpus):
    before = (
        "import numpy as np\n"
        "data = np.random.rand(320, 100).astype('float32'), np.random.randint(0, 10, 320)\n"
        "train_dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)\n"
    )
    lines = run_program("mirrored_dataset.py", before, gpus=gpus)
    assert re.search(r"10/10 ━+ .*/step - accuracy: 0\.\d{4} - loss: 2\.\d{4}", last_epoch(lines)), lines[-1]


@machines
def test_a_program_with_timeit_prints_ipythons_line(run_program, gpus):
    lines = run_program("missing_kernel.py", gpus=gpus)
    assert lines[0] == f"Num GPUs Available:  {gpus}"
    assert lines[1] == CPU  # two by two is too small for a journey
    unit = r"[\d.e+]+ (s|ms|µs|ns)"
    loop = rf"{unit} ± {unit} per loop \(mean ± std\. dev\. of 7 runs, [\d,]+ loops? each\)"
    assert re.fullmatch(loop, lines[-1]), lines


def test_a_large_tensor_is_allocated(run_program):
    """A sixteenth of it here; scripts/bench makes all 4 GiB."""
    lines = run_program("large_tensor.py", instead={"(1024, 1024, 1024)": "(64, 1024, 1024)"})
    assert lines == ["Tensor allocated successfully on GPU"]


@machines
def test_inner_scopes_win(run_program, gpus):
    assert run_program("nested_scopes.py", gpus=gpus) == [CPU, GPU if gpus else CPU]


@machines
def test_a_product_is_summed_elsewhere(run_program, gpus):
    (line,) = run_program("matmul_then_sum.py", gpus=gpus)
    assert re.fullmatch(r"tf\.Tensor\(-?[\d.e+]+, shape=\(\), dtype=float32\)", line)


@machines
def test_batches_go_between_devices(run_program, gpus):
    assert run_program("batches_between_devices.py", gpus=gpus) == []


@machines
def test_a_traced_function_uses_both_devices(run_program, gpus):
    (line,) = run_program("traced_function.py", gpus=gpus)
    assert abs(float(re.match(r"tf\.Tensor\(([\d.]+),", line)[1]) - 1) < 0.02


@machines
def test_gpus_are_counted_and_grow(run_program, gpus):
    expected = f"{gpus} Physical GPUs, {gpus} Logical GPUs" if gpus else "No GPUs detected. Proceeding with CPU only."
    assert run_program("memory_growth.py", gpus=gpus) == [expected]


@machines
def test_a_model_is_made_and_fitted_in_a_scope(run_program, gpus):
    instead = {"x_train_preprocessed = ...": "x_train_preprocessed = x_train", "y_train_preprocessed = ...": "y_train_preprocessed = y_train"}
    lines = run_program("model_in_scope.py", ROWS, instead, gpus=gpus)
    assert re.search(r"20/20 ━+ .*/step - accuracy: 0\.\d{4} - loss: \d\.\d{4}", last_epoch(lines)), lines[-1]


@machines
def test_a_model_is_mirrored_over_arrays(run_program, gpus):
    lines = run_program("mirrored_arrays.py", ROWS, gpus=gpus)
    assert re.search(r"20/20 ━+ .*/step - accuracy: 0\.\d{4} - loss: \d\.\d{4}", last_epoch(lines)), lines[-1]


def test_each_of_five_texts_has_three_programs_and_no_program_is_left_out():
    listed = [name for names in program_texts.ORDER.values() for name in names]
    assert [len(names) for names in program_texts.ORDER.values()] == [3] * 5
    assert sorted(listed) == sorted(file.name for file in program_texts.PROGRAMS.glob("*.py"))
    assert {name: len(program_texts.python_blocks(text)) for name, text in program_texts.texts().items()} in (
        {}, {name: 3 for name in program_texts.ORDER}
    )  # fmt: skip


@pytest.mark.parametrize("name", [name for names in program_texts.ORDER.values() for name in names])
def test_a_program_is_a_block_of_its_text_to_the_letter(name, tmp_path, monkeypatch):
    if "TANDEM_SEEDS" not in os.environ:  # then a text made of the copies is taken apart
        ((text, names),) = [item for item in program_texts.ORDER.items() if name in item[1]]
        blocks = "".join(f"Words.\n```python\n{(program_texts.PROGRAMS / n).read_text()}```\nAnd `words`.\n" for n in names)
        (tmp_path / text).write_text(blocks)
        monkeypatch.setenv("TANDEM_SEEDS", str(tmp_path))
    assert program_texts.program(name) == (program_texts.PROGRAMS / name).read_text()


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
