"""The notebook of examples/ runs in IPython, and what it shows there is HTML."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tandemflow as tf

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    environment = dict(os.environ, PYTHONIOENCODING="ascii", PYTHONPATH=str(Path(tf.__file__).parent.parent), IPYTHONDIR=str(tmp_path_factory.mktemp("ipython")))
    command = [sys.executable, ROOT / "tests/python/run_notebook.py", ROOT / "examples/notebook.ipynb"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def html_with(cells, words):
    (found,) = [cell["html"] for cell in cells if words in cell["html"]]
    return found


def test_every_cell_runs_and_timeit_is_ipythons(cells):
    (timed,) = [cell["printed"] for cell in cells if "Num GPUs Available" in cell["printed"]]
    assert "device:CPU:0" in timed and re.search(r"[\d.]+ (ns|us|ms) \+- .* per loop \(mean \+- std\. dev\. of 7 runs, [\d,]+ loops each\)", timed)


def test_tensors_datasets_models_and_explanations_show_as_tables(cells):
    assert re.search(r"<caption>Tensor, shape \(2, 2\), float32, CPU:0</caption>.*<td>8</td><td>11</td>", html_with(cells, "<td>16</td>"))
    assert "<caption>Dataset, 16 elements</caption>" in html_with(cells, "Dataset,") and "(None, 20)" in html_with(cells, "Dataset,")
    model = html_with(cells, "Layer (type)")
    assert "<td>dense (Dense)</td><td>(None, 32)</td><td>672</td>" in model and "Total params: 738" in model
    assert "matmul" in html_with(cells, "<td>reason</td>").lower()
    assert "<th>predicted</th>" in html_with(cells, "<th>why</th>")


@pytest.mark.parametrize(
    "value, shown",
    [
        (np.arange(3), "<th>2</th>"),
        (np.float32(0.1), "<pre>0.1</pre>"),
        (np.zeros((30, 40)), "<td>…</td>"),
        (np.zeros((2, 2, 2)), "[[[0. 0.]"),
        (np.zeros((0, 3)), "shape (0, 3)"),
        (["<b>", "c"], "&lt;b&gt;"),
    ],
)
def test_tensors_of_all_shapes_show(value, shown):
    assert shown in tf.constant(value)._repr_html_()


def test_variables_and_tensors_of_traces_show():
    assert "Variable, shape (2,)" in tf.Variable([1.0, 2.0])._repr_html_()
    seen = []
    tf.function(lambda x: seen.append(x._repr_html_()) or x)(tf.constant([1.0]))
    assert "tf.Tensor" in seen[0]


def test_models_that_are_not_built_or_have_branches_show():
    assert "unbuilt" in tf.keras.Sequential([tf.keras.layers.Dense(3)])._repr_html_()
    x = tf.keras.Input((4,))
    y = tf.keras.layers.Add()([tf.keras.layers.Dense(4)(x), x])
    assert "Connected to" in tf.keras.Model(x, y)._repr_html_()
    assert "endlessly many" in tf.data.Dataset.range(3).repeat()._repr_html_()
