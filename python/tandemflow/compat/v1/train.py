"""tf.compat.v1.train: the optimizers and the Saver of graphs; all else as in tf.train."""
from ..._graph_mode.optimizers import (  # noqa: F401
    AdagradOptimizer,
    AdamOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    Optimizer,
    RMSPropOptimizer,
)
from ..._graph_mode.saver import Saver  # noqa: F401


def __getattr__(name):
    from tandemflow import train

    return getattr(train, name)
