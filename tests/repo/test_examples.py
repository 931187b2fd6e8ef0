"""The programs of the README and of examples/ run."""
import os
import subprocess
import sys

import numpy as np
import pytest
from check_docs import ROOT


def test_the_cpp_program_of_the_readme_runs():
    result = subprocess.run([ROOT / "build" / "hello"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert "tf.Tensor(" in result.stdout


def run_python(name, *arguments):
    """What a Python example prints."""
    environment = dict(os.environ, PYTHONPATH=os.environ.get("PYTHONPATH", str(ROOT / "build" / "python")))
    command = [sys.executable, "-m", "tandemflow._run", str(ROOT / "examples" / name), *arguments]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_python_program_of_the_readme_runs():
    assert "tf.Tensor(" in run_python("hello.py")


ARCHITECTURES = pytest.mark.parametrize("name, epochs, learned", [
    ("lenet", 2, lambda accuracy: accuracy > 0.95),
    ("resnet", 3, lambda accuracy: accuracy > 0.8),
    ("char_lstm", 4, lambda accuracy: accuracy > 0.8),
    ("transformer", 4, lambda accuracy: accuracy > 0.9),
    ("autoencoder", 3, lambda noise_left: noise_left < 0.3),
    ("two_tower", 4, lambda accuracy: accuracy > 0.85),
])  # fmt: skip


@ARCHITECTURES
def test_known_architectures_learn(name, epochs, learned):
    last = run_python(f"{name}.py", str(epochs)).splitlines()[-1]
    assert learned(float(last.rpartition(": ")[2])), last


@ARCHITECTURES
def test_known_architectures_learn_in_cpp(name, epochs, learned):
    result = subprocess.run([ROOT / "build" / "architectures", name, str(epochs)], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    last = result.stdout.splitlines()[-1]
    assert learned(float(last.rpartition(": ")[2])), last


def test_the_example_that_loads_a_keras_file_predicts_what_keras_did(tmp_path):
    models = ROOT / "tests" / "data" / "models"
    recorded = np.load(models / "tiny_cnn_io.npz")
    np.save(tmp_path / "x.npy", recorded["x"])
    result = subprocess.run([ROOT / "build" / "predict", models / "tiny_cnn.keras", tmp_path / "x.npy"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    shown = result.stdout.split("tf.Tensor(")[1].split("shape=")[0]
    values = np.array([float(word) for word in shown.replace("[", " ").replace("]", " ").replace(",", " ").split()])
    assert np.allclose(values, recorded["pred"].ravel(), atol=1e-4)


def test_the_example_says_what_is_wrong_with_a_file(tmp_path):
    (tmp_path / "x.keras").write_bytes(b"PK")
    result = subprocess.run([ROOT / "build" / "predict", tmp_path / "x.keras", "none"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert "E0502" in result.stderr and "x.keras" in result.stderr


@pytest.mark.parametrize("gpus", ["0", "1"])
def test_the_demo_trains_shares_work_and_says_why(gpus):
    environment = dict(os.environ, TANDEM_OPENCL_CPU_AS_GPU=gpus, TF_CPP_MIN_LOG_LEVEL="2")
    result = subprocess.run([ROOT / "build" / "demo", ROOT / "machines" / "rtx3080.json"], env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    accuracy = float(result.stdout.split("it has not seen: ")[1].split()[0])
    assert accuracy > 99
    assert ("/GPU:0 alone: " in result.stdout) == (gpus == "1") and "without a scope: " in result.stdout
    why = "has no kernel for float32" if gpus == "1" else "does not exist here"
    assert why in result.stdout and "on desktop with an NVIDIA GeForce RTX 3080" in result.stdout


@pytest.mark.parametrize("gpus", [0, 2])
@pytest.mark.parametrize("name, expected", [
    ("both_devices", ["Matrix multiplication time on {short}: ", "Model processing complete: [64, 10] on {device}", "Asynchronous processing complete"]),
    ("placement", ["CPU result: ", "Num GPUs Available:  {gpus}", "Tensor allocated successfully on", "device:CPU:0\n{device}", "shape=()"]),
    ("mirrored", ["{most} replicas, as set: /CPU:0 ", "losses of one device"]),
    ("train", ["Epoch 2/2", "sum of the predictions:", "{replicas} replicas, equal shards", "10 epochs over a dataset"]),
])  # fmt: skip
def test_the_programs_for_both_devices_run(name, expected, gpus):
    environment = dict(os.environ, TANDEM_OPENCL_CPU_AS_GPU=str(gpus), TF_CPP_MIN_LOG_LEVEL="2")
    result = subprocess.run([ROOT / "build" / name], env=environment, capture_output=True, text=True, timeout=180)
    assert result.returncode == 0, result.stderr
    short = "/GPU:0" if gpus else "/CPU:0"
    words = {"gpus": gpus, "short": short, "device": f"/job:localhost/replica:0/task:0/device:{short[1:]}", "replicas": gpus or 1, "most": 1 + 2 * gpus}
    for text in expected:
        assert text.format(**words) in result.stdout, result.stdout
    assert "differ" not in result.stdout
