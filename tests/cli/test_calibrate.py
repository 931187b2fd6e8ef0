"""tandem calibrate, run as a user runs it."""
import json
import os

from test_cli import tandem


def calibrate(tmp_path, *words):
    os.environ["TANDEM_CACHE_DIR"] = str(tmp_path)
    try:
        return tandem("calibrate", *words)
    finally:
        del os.environ["TANDEM_CACHE_DIR"]


def test_the_quick_pass_writes_a_machine_file_where_programs_look_for_it(tmp_path):
    code, out, err = calibrate(tmp_path, "--quick")
    assert code == 0 and "calibrating /CPU:0: peak float32" in err and out.splitlines()[0].startswith("device")
    (stored,) = (tmp_path / "machines").iterdir()
    cpu = json.loads(stored.read_text())["devices"][0]
    assert cpu["name"] == "/CPU:0" and cpu["peak_gflops"]["float32"] > 0.1 and cpu["gb_per_s"] > 0.1 and cpu["cores"]
    code, out, _ = calibrate(tmp_path, "--check")
    assert code == 0 and "predicted us" in out and "matmul" in out and "in the median" in out


def test_json_goes_to_the_output_as_well(tmp_path):
    code, out, err = calibrate(tmp_path, "--quick", "--json", "-o", tmp_path / "here.json")
    assert code == 0 and err == ""
    assert json.loads(out) == json.loads((tmp_path / "here.json").read_text())


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = calibrate(tmp_path, "--quick", "-o", tmp_path / "file" / "machine.json")
    assert code == 1 and "file" in err
