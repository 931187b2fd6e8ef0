"""Runs the workloads of one library in a process of its own: python -m peers.worker LIBRARY THREADS.

Reads a JSON object a line, answers with one a line (see session.py). What libraries print goes to stderr.
"""
import json
import os
import sys

from . import arrays, stopwatch
from .libraries import LIBRARIES, flatten
from .workloads import find


class Worker:
    def __init__(self, library, threads):
        self.library = library
        self.module = library.load(threads)
        self.bodies = {}

    def hello(self):
        return {"version": str(getattr(self.module, "__version__", ""))}

    def prepare(self, name, inputs, folder):
        """Makes the function, runs it once and writes what it returned."""
        workload, given = find(name), arrays.load(inputs)
        if not workload.raw:
            given = {key: self.library.tensor(array) for key, array in given.items()}
        body = workload.body(self.library.name, self.module, given)
        if body is None:
            return {"missing": True}
        outputs = [self.library.array(leaf) for leaf in flatten(body())]
        self.bodies[name] = self.waiting(body)
        return {"outputs": arrays.save({str(i): array for i, array in enumerate(outputs)}, folder)}

    def waiting(self, body):
        if type(self.library).wait is LIBRARIES["numpy"].wait.__func__:
            return body  # nothing to wait for: no call that costs time
        return lambda: self.library.wait(body())

    def time(self, name, seconds, warm_up):
        return {"times": stopwatch.batches(self.bodies[name], seconds, warm_up)}


def serve(worker, requests, answers):
    for line in requests:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # one workload that fails must not end the others
            answer = {"error": f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    library, threads = LIBRARIES[sys.argv[1]], int(sys.argv[2])
    serve(Worker(library, threads), sys.stdin, answers)


if __name__ == "__main__":
    main()
