"""The command line, run as a user runs it."""
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def tandem(*arguments):
    result = subprocess.run([ROOT / "build" / "tandem", *arguments], capture_output=True, text=True, timeout=60)
    return result.returncode, result.stdout, result.stderr


def test_devices_lists_the_cpu():
    code, out, _ = tandem("devices")
    assert code == 0 and "/CPU:0" in out


def test_devices_as_json_has_names_cores_and_memory():
    code, out, _ = tandem("devices", "--json")
    first = json.loads(out)["devices"][0]
    assert code == 0 and first["name"] == "/CPU:0" and first["cores"] >= 1 and first["memory_bytes"] > 0


def test_ops_finds_a_kernel_on_the_cpu_for_every_op_and_dtype():
    code, out, _ = tandem("ops", "--json")
    choices = json.loads(out)
    assert code == 0 and {"add", "matmul", "conv2d", "softmax"} <= {choice["op"] for choice in choices}
    assert [(c["op"], c["dtype"]) for c in choices if not c["kernels"]] == []


def test_the_tables_fit_a_hundred_columns():
    for command in (["devices"], ["ops"], ["ops", "matmul"], ["ops", "conv2d"], ["errors"]):
        _, out, _ = tandem(*command)
        assert [line for line in out.splitlines() if len(line) > 100] == []


def test_ops_of_one_name_prints_only_that_op():
    code, out, _ = tandem("ops", "matmul", "--json")
    assert code == 0 and {choice["op"] for choice in json.loads(out)} == {"matmul"}


def test_the_page_of_ops_is_what_the_records_say():
    code, out, _ = tandem("ops", "--markdown")
    assert code == 0 and out == (ROOT / "docs" / "ops.md").read_text(), "write it anew: build/tandem ops --markdown > docs/ops.md"


def test_errors_explains_a_code_by_number_and_by_name():
    by_number, by_name = tandem("errors", "E0102"), tandem("errors", "shape_mismatch")
    assert by_number[0] == 0 and by_number == by_name and "docs/errors/E0102.md" in by_number[1]


def test_version_and_help_succeed():
    code, out, _ = tandem("--version")
    assert code == 0 and out.startswith("tandem 0.")
    code, out, _ = tandem("--help")
    assert code == 0 and all(command in out for command in ("devices", "ops", "errors"))


def test_wrong_use_is_explained_and_ends_with_exit_code_2():
    wrong = {
        (): "a command is missing",
        ("fly",): "unknown command fly",
        ("--fly",): "unknown option --fly",
        ("devices", "--fly"): "--fly",
        ("ops", "no_such_op"): "no_such_op",
        ("errors", "E9999"): "E9999",
    }
    for arguments, text in wrong.items():
        code, _, err = tandem(*arguments)
        assert code == 2 and text in err, (arguments, code, err)
