"""The libraries that are compared: how each is loaded, told its threads, given inputs and read."""
import os


class Library:
    """One column. `load` returns the module that workloads get."""

    name = title = package = ""

    def load(self, threads):
        raise NotImplementedError

    def tensor(self, array):
        return array

    def array(self, tensor):
        """A NumPy array, after waiting for the value."""
        import numpy as np

        return np.asarray(tensor)

    def wait(self, result):
        """Returns when `result` is computed; libraries that compute at once need nothing."""


class NumPy(Library):
    name, title, package = "numpy", "NumPy", "numpy"

    def load(self, threads):
        import numpy

        return numpy


class TensorFlow(Library):
    name, title, package = "tensorflow", "TensorFlow", "tensorflow-cpu"

    def load(self, threads):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
        self.tf = tf
        return tf

    def tensor(self, array):
        return self.tf.constant(array)


class TandemFlow(Library):
    name, title, package = "tandemflow", "TandemFlow", None

    def load(self, threads):
        import tandemflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(threads)
        self.tf = tf
        return tf

    def tensor(self, array):
        return self.tf.constant(array)


class PyTorch(Library):
    name, title, package = "torch", "PyTorch", "torch"

    def load(self, threads):
        import torch

        torch.set_num_threads(threads)
        self.torch = torch
        return torch

    def tensor(self, array):
        # Labels are int64 in PyTorch.
        made = self.torch.from_numpy(array.copy())
        return made.long() if made.dtype == self.torch.int32 else made

    def array(self, tensor):
        if not isinstance(tensor, self.torch.Tensor):
            return super().array(tensor)
        return tensor.detach().numpy()


class Jax(Library):
    name, title, package = "jax", "JAX", "jax"

    def load(self, threads):
        import jax

        jax.config.update("jax_enable_x64", True)  # otherwise float64 becomes float32
        jax.config.update("jax_default_matmul_precision", "float32")
        self.jax = jax
        return jax

    def tensor(self, array):
        return self.jax.numpy.asarray(array)

    def wait(self, result):
        self.jax.block_until_ready(result)


LIBRARIES = {library.name: library for library in (TandemFlow(), TensorFlow(), PyTorch(), Jax(), NumPy())}
PEERS = [name for name in LIBRARIES if name != "tandemflow"]
CPP = "tandem_cpp"  # the column of the C++ worker
TITLES = {CPP: "TandemFlow C++", **{name: library.title for name, library in LIBRARIES.items()}}


def flatten(result):
    """The tensors in nested lists, tuples and dictionaries, in order."""
    if isinstance(result, dict):
        return [leaf for key in sorted(result) for leaf in flatten(result[key])]
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in flatten(part)]
    return [result]
