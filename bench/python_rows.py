"""Times TandemFlow from Python; prints one JSON object {row name: value}."""
import json
import time

import tandemflow as tf


def best_microseconds(body, calls=100_000, rounds=7):
    best = 1e9
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            body()
        best = min(best, (time.perf_counter() - begin) / calls)
    return best * 1e6


def main():
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    b = tf.constant([[5.0, 6.0], [7.0, 8.0]])
    add = tf.add
    print(json.dumps({"python_add_2x2": best_microseconds(lambda: add(a, b))}))


main()
