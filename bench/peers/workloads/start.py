"""How soon a program has its first result."""
import os
import re
import subprocess
import sys

from ..workload import Workload

# As examples/first_result.cc: two ops on 2 × 2, printed as the library prints.
PROGRAMS = {
    "tf": "import {module} as tf; a = tf.constant([[1.0, 2.0], [3.0, 4.0]]); print(tf.matmul(a, a) + a)",
    "torch": "import torch; a = torch.tensor([[1.0, 2.0], [3.0, 4.0]]); print(torch.matmul(a, a) + a)",
    "jax": "import jax.numpy as jnp; a = jnp.array([[1.0, 2.0], [3.0, 4.0]]); print(jnp.matmul(a, a) + a)",
    "numpy": "import numpy as np; a = np.array([[1.0, 2.0], [3.0, 4.0]]); print(np.matmul(a, a) + a)",
}


class FirstResult(Workload):
    name, doc, long = "import_first_result", "a new process: import, two ops on 2 × 2, print, exit", True

    def tf(self, tf):
        return self.run(PROGRAMS["tf"].format(module=tf.__name__))

    def torch(self, torch):
        return self.run(PROGRAMS["torch"])

    def jax(self, jax):
        return self.run(PROGRAMS["jax"])

    def numpy(self, np):
        return self.run(PROGRAMS["numpy"])

    def run(self, program):
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}

        def once():
            done = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
            return [float(value) for value in re.findall(r"\d+\.", done.stdout)]

        return once
