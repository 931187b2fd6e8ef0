"""The reference that scripts/docs writes: a page a module, nothing undocumented, records and docstrings as they are."""
import importlib
import sys
from pathlib import Path

import tandemflow as tf

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
api_reference = importlib.import_module("api_reference")


def test_every_public_function_and_class_is_documented():
    assert list(api_reference.undocumented()) == []


def test_pages_hold_every_name_with_its_signature_and_text(tmp_path):
    api_reference.main(tmp_path)
    pages = {path.stem: path.read_text() for path in tmp_path.glob("*.md")}
    assert {"README", "tf", "tf.math", "tf.nn", "tf.data", "tf.keras", "tf.keras.layers", "tf.keras.ops.numpy"} <= set(pages)
    assert not any("tf.keras.layers.dense" in page for page in pages)
    assert "matmul(a, b, transpose_a=False, transpose_b=False, name=None)" in pages["tf"]
    assert "leading axes broadcast.\n\n- `a`: a tensor" in pages["tf"] and "Dtypes: float16, bfloat16, float32, float64, int32, int64." in pages["tf"]
    assert "### class Dense" in pages["tf.keras.layers"] and "- `batch(" in pages["tf.data"]
    for module in api_reference.modules():
        name = module.__name__.replace("tandemflow", "tf", 1)
        assert f"({name}.md)" in pages["README"]
        for entry, _ in api_reference.entries(module):
            assert entry in pages[name], (name, entry)
    assert len(pages["tf"]) > 20_000 and tf.__name__ == "tandemflow"
