"""Times the workloads that are compared with PyTorch, in PyTorch; prints one JSON object {row name: value}.

Run by bench/run.py in an environment that has torch, on the same number of threads as TandemFlow.
"""
import json
import sys
import time

import torch_networks
import torch


def best_seconds(body, at_least=0.3):
    body()
    calls, best, end = 1, 1e9, time.perf_counter() + at_least
    while True:
        begin = time.perf_counter()
        for _ in range(calls):
            body()
        each = (time.perf_counter() - begin) / calls
        best = min(best, each)
        calls = min(max(int(0.002 / each), 1), 1_000_000)
        if time.perf_counter() > end:
            return best


def elementwise():
    x = torch.randn(1 << 20)
    return {
        "exp_1m": best_seconds(lambda: torch.exp(x)) * 1e6,
        "tanh_1m": best_seconds(lambda: torch.tanh(x)) * 1e6,
        "gelu_1m": best_seconds(lambda: torch.nn.functional.gelu(x)) * 1e6,
        "reduce_sum_1m": best_seconds(lambda: torch.sum(x)) * 1e6,
        "random_normal_1m": best_seconds(lambda: torch.randn(1 << 20)) * 1e6,
    }


def small_add():
    a, b = torch.ones(2, 2), torch.ones(2, 2)
    return {"python_add_2x2": best_seconds(lambda: torch.add(a, b)) * 1e6}


def dense_forward():
    x = torch.randn(10_000, 100)
    model = torch.nn.Sequential(torch.nn.Linear(100, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))

    def forward():
        with torch.no_grad():
            for first in range(0, len(x), 1024):
                model(x[first : first + 1024])

    return {"dense_forward_10000x100": best_seconds(forward) * 1e3}


def train_loop(steps):
    """The demo's step: 100 -> 64 relu -> 10, sparse cross entropy, Adam, batch 32."""
    data, labels = torch.randn(3200, 100), torch.randint(0, 10, (3200,))
    model = torch.nn.Sequential(torch.nn.Linear(100, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters())

    def step(i):
        x, y = data[i * 32 : i * 32 + 32], labels[i * 32 : i * 32 + 32]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    for i in range(100):
        step(i)
    begin = time.perf_counter()
    for i in range(steps):
        step(i % 100)
    return {"train_loop_step": (time.perf_counter() - begin) / steps * 1e6}


def main():
    torch.set_num_threads(int(sys.argv[1]))
    wanted = set(sys.argv[2:])
    results = {}
    if wanted & {"exp_1m", "tanh_1m", "gelu_1m", "reduce_sum_1m", "random_normal_1m"}:
        results |= elementwise()
    if "python_add_2x2" in wanted:
        results |= small_add()
    if "dense_forward_10000x100" in wanted:
        results |= dense_forward()
    if "train_loop_step" in wanted:
        results |= train_loop(10_000)
    results |= torch_networks.times(wanted, best_seconds)
    print(json.dumps(results))


main()
