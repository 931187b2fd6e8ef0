"""All workloads, in the order of the table. A new one is a class in a file of this folder and a line here."""
from .architectures import CharacterLstm, ResNet, Transformer
from .networks import Attention, CnnForward, CnnTrainStep, Lstm
from .ops import EagerChain, ElementwiseChain, Matmul, MatmulSmall, SquareMean
from .pipelines import Batches, MapShuffleBatch
from .start import FirstResult
from .training import Fit, Predict, TapeStep

WORKLOADS = [
    FirstResult(),
    MatmulSmall(),
    EagerChain(),
    Matmul(1000),
    Matmul(1024),
    SquareMean(1000),
    ElementwiseChain(1_000_000),
    Batches(10_000, 100),
    MapShuffleBatch(100_000, 32),
    TapeStep(traced=False),
    TapeStep(traced=True),
    CnnForward(64),
    CnnTrainStep(64),
    Fit("fit_100000x100", rows=100_000, features=100, hidden=64, goals={"jax": 0.286, "torch": 0.04, "tensorflow": 0.0167}),
    Fit("fit_784_128_10", rows=60_000, features=784, hidden=128, goals={"jax": 0.45, "tensorflow": 0.1}),
    Predict(10_000, 784, 128, batch=256),
    Predict(10_000, 100, 64, batch=32, goals={"tensorflow": 0.01}),
    Lstm(64, 50, 32, 128),
    Attention(64, 128, 256, heads=4),
    ResNet(32),
    CharacterLstm(64),
    Transformer(64),
]


def find(name):
    for workload in WORKLOADS:
        if workload.name == name:
            return workload
    raise KeyError(f"no workload is called {name!r}; there are {', '.join(w.name for w in WORKLOADS)}")
