"""tf.config.threading: how many threads work at once. 0 stands for automatic."""
from .. import _tandem
from . import _devices


def set_intra_op_parallelism_threads(num_threads):
    """Threads that compute one op together."""
    _tandem.set_intra_op_parallelism_threads(_devices.whole(num_threads, "num_threads"))


def get_intra_op_parallelism_threads():
    """What was set; 0 for one a core."""
    return _tandem.get_intra_op_parallelism_threads()


def set_inter_op_parallelism_threads(num_threads):
    """Ops of a graph that may run at once."""
    _tandem.set_inter_op_parallelism_threads(_devices.whole(num_threads, "num_threads"))


def get_inter_op_parallelism_threads():
    """What was set; 0 for as many as there are cores."""
    return _tandem.get_inter_op_parallelism_threads()
