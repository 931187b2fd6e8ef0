"""tandem calibrate, run as a user runs it."""
import contextlib
import json
import os
import subprocess
import sys
import time

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


@contextlib.contextmanager
def others_at_work():
    """Programs that never rest, two for each core."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * len(os.sched_getaffinity(0)))]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def doubt_everything(tmp_path, unix_s):
    (stored,) = (tmp_path / "machines").iterdir()
    machine = json.loads(stored.read_text())
    machine["doubt"] = {"why": "the test says so", "unix_s": unix_s}
    machine["devices"][0]["peak_gflops"]["float32"] = 1e-3
    stored.write_text(json.dumps(machine))
    return stored


def test_figures_measured_while_others_are_at_work_are_doubted(tmp_path):
    with others_at_work():
        code, out, _ = calibrate(tmp_path, "--quick")
    assert code == 0 and "these figures are doubtful: other programs kept the cores busy" in out and "stored in" in out
    (stored,) = (tmp_path / "machines").iterdir()
    assert "waited" in json.loads(stored.read_text())["doubt"]["why"]
    os.environ["TANDEM_CACHE_DIR"] = str(tmp_path)
    try:
        code, out, _ = tandem("devices")
        assert code == 0 and "the placer's figures are doubtful" in out and [line for line in out.splitlines() if len(line) > 100] == []
        assert "waited" in json.loads(tandem("devices", "--json")[1])["figures"]["doubt"]
    finally:
        del os.environ["TANDEM_CACHE_DIR"]


def test_doubtful_figures_do_not_replace_those_measured_in_quiet_unless_forced(tmp_path):
    calibrate(tmp_path, "--quick")
    (stored,) = (tmp_path / "machines").iterdir()
    quiet = json.loads(stored.read_text())
    quiet.pop("doubt", None)  # others may be at work beside the tests
    stored.write_text(json.dumps(quiet))
    with others_at_work():
        code, out, _ = calibrate(tmp_path, "--quick")
        assert code == 0 and "not stored" in out and "--force" in out and json.loads(stored.read_text()) == quiet
        code, out, _ = calibrate(tmp_path, "--quick", "--force")
        assert code == 0 and "not stored" not in out and "doubt" in json.loads(stored.read_text())


def test_a_program_measures_doubtful_figures_again_a_minute_later(tmp_path):
    calibrate(tmp_path, "--quick")
    stored = doubt_everything(tmp_path, unix_s=0)
    calibrate(tmp_path, "--check")
    again = json.loads(stored.read_text())
    assert again.get("doubt", {}).get("why") != "the test says so" and again["devices"][0]["peak_gflops"]["float32"] > 0.1


def test_a_program_keeps_doubtful_figures_for_a_minute(tmp_path):
    calibrate(tmp_path, "--quick")
    stored = doubt_everything(tmp_path, unix_s=int(time.time()))
    calibrate(tmp_path, "--check")
    assert json.loads(stored.read_text())["doubt"]["why"] == "the test says so"
