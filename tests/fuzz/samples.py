"""Files from which the fuzzing of a format starts: samples.py NAME FOLDER writes them into the folder, if it needs any."""
import json
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MODELS = ["tiny_cnn", "nested", "two_towers", "functions", "attention", "recurrent"]  # as in model_samples.h
LOCK = {
    "version": 1,
    "threshold": 0.2,
    "functions": [
        {"name": "step", "graph": "00ff", "predicted_us": 100.5, "scopes": False, "ops": [
            {"node": 2, "op": "matmul", "dtype": "float32", "shape": "[8, 8]", "device": "/GPU:0"},
            {"node": 4, "op": "add", "dtype": "float32", "shape": "[8, 8]", "device": "/CPU:0"},
        ]},
    ],
}  # fmt: skip
GRAPH = {
    "nodes": [
        {"id": "a", "cost_us": {"/CPU:0": 10, "/GPU:0": 2.5}, "memory": 1000, "host_value": True},
        {"id": "b", "work": {"op": "matmul", "dtype": "float16", "flops": 1e9, "bytes": 1e6, "depth": 3}, "device": "/GPU:0"},
        {"id": "c", "cost_us": {"/CPU:0": 1}, "with": "a"},
    ],
    "edges": [{"from": "a", "to": "b", "bytes": 64}, {"from": "b", "to": "c"}],
}


def samples(name):
    """Pairs of a file's name and its bytes."""
    if name == "hdf5":
        return [(path.name, path.read_bytes()) for path in (ROOT / "tests" / "data").glob("hdf5_*.h5")]
    if name == "machine":
        return [(path.name, path.read_bytes()) for path in (ROOT / "machines").glob("*.json")]
    if name == "model":
        return [(model, bytes([i]) + config_of(model)) for i, model in enumerate(MODELS)]
    if name == "onnx_model":
        return [("model.onnx", onnx_model())]
    text = {"lock": LOCK, "place_graph": GRAPH}.get(name)
    return [] if text is None else [("sample.json", json.dumps(text).encode())]


def onnx_model():
    """A graph with a weight, and a graph inside a node."""
    from tandemflow.onnx import messages as m
    from tandemflow.onnx.tensors import from_array

    value = m.ValueInfo(name="y", type=m.Type(tensor_type=m.TensorType(elem_type=1, shape=m.TensorShape(dim=[m.Dimension(dim_value=2)]))))
    inner = m.Graph(name="inner", node=[m.Node(op_type="Relu", input=["w"], output=["y"])], output=[value])
    branches = [m.Attribute(name=name, type=m.GRAPH, g=inner) for name in ("then_branch", "else_branch")]
    graph = m.Graph(
        name="graph",
        initializer=[from_array([1.5, -2.5], "w"), m.Tensor(name="h", data_type=10, dims=[1], int32_data=[15360])],
        input=[m.ValueInfo(name="c", type=m.Type(tensor_type=m.TensorType(elem_type=9)))],
        node=[m.Node(op_type="If", name="if", input=["c"], output=["y"], attribute=branches)],
        output=[value],
    )
    return m.Model(ir_version=8, graph=graph, opset_import=[m.OperatorSet(version=17)]).to_bytes()


def config_of(model):
    with zipfile.ZipFile(ROOT / "tests" / "data" / "models" / f"{model}.keras") as archive:
        return archive.read("config.json")


if __name__ == "__main__":
    for file, data in samples(sys.argv[1]):
        (Path(sys.argv[2]) / file).write_bytes(data)
