"""The optimizers of tf.compat.v1.train: minimize(loss) is an operation of the graph."""
import tandemflow as tf

from . import nodes
from .nodes import GraphTensor, Operation, state
from .variables import GraphVariable, trainable_variables


def gradients(ys, xs, grad_ys=None, name="gradients", **options):
    """The derivatives of the sum of ys by each of xs; None where nothing connects them is known when a session runs."""
    from .._graph_gradients import gradients as traced

    ys, xs = ([one] if isinstance(one, Operation) else list(one) for one in (ys, xs))
    graph, weights = nodes.current(), nodes.leaves(grad_ys)

    def compute():
        value = state.run.value
        given = None if grad_ys is None else [value(one) for one in weights]
        sources = [one.cell if isinstance(one, GraphVariable) else value(one) for one in xs]
        return traced([value(one) for one in ys], sources, given)

    whole = Operation(graph, compute, [*ys, *xs, *weights], name, name)
    found = []
    for number, x in enumerate(xs):
        pick = lambda number=number: tf.convert_to_tensor(_required(state.run.value(whole)[number], xs[number]))  # noqa: E731
        found.append(GraphTensor(graph, pick, [whole], x.shape, x.dtype, name, name))
    return found


def _required(gradient, source):
    if gradient is None:
        raise ValueError(f"No gradients provided for {source.name}: nothing connects it with what is differentiated")
    return gradient


class Optimizer:
    """compute_gradients and apply_gradients, or both: minimize."""

    def __init__(self, made, learning_rate):
        self._made = made  # a function that makes Keras' optimizer
        self._rate = learning_rate if isinstance(learning_rate, Operation) else None
        self._inner = None

    def compute_gradients(self, loss, var_list=None, **options):
        """Pairs of a gradient and its variable."""
        variables = list(var_list) if var_list is not None else trainable_variables()
        if not variables:
            raise ValueError("No variables to optimize.")
        return list(zip(gradients(loss, variables), variables))

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An operation that changes the variables, and counts up global_step."""
        pairs = [(gradient, variable) for gradient, variable in grads_and_vars if gradient is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        cells = [variable.cell for _, variable in pairs]
        with nodes.evaluating(nodes.Evaluation({})):  # makes its own variables now
            self._inner = self._inner or self._made()
            self._inner.build(cells)

        def compute():
            if self._rate is not None:
                self._inner.learning_rate.assign(state.run.value(self._rate))
            self._inner.apply_gradients([(state.run.value(gradient), variable.cell) for gradient, variable in pairs])
            if global_step is not None:
                global_step.cell.assign_add(1)

        inputs = [*(gradient for gradient, _ in pairs), *([] if self._rate is None else [self._rate])]
        return Operation(nodes.current(), compute, inputs, name or type(self).__name__, "NoOp")

    def minimize(self, loss, global_step=None, var_list=None, name=None, **options):
        """An operation that makes the loss smaller."""
        return self.apply_gradients(self.compute_gradients(loss, var_list), global_step, name)


def _start(learning_rate):
    """What Keras' optimizer begins with: a rate that is fed comes with every run."""
    return 0.0 if isinstance(learning_rate, Operation) else learning_rate


class GradientDescentOptimizer(Optimizer):
    """Steps against the gradient."""

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        super().__init__(lambda: tf.keras.optimizers.SGD(_start(learning_rate)), learning_rate)


class MomentumOptimizer(Optimizer):
    """Gradient descent that keeps part of its last step."""

    def __init__(self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False):
        super().__init__(lambda: tf.keras.optimizers.SGD(_start(learning_rate), momentum, use_nesterov), learning_rate)


class AdamOptimizer(Optimizer):
    """Steps by the mean of gradients, over the root of that of their squares."""

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Adam"):
        super().__init__(lambda: tf.keras.optimizers.Adam(_start(learning_rate), beta1, beta2, epsilon), learning_rate)


class RMSPropOptimizer(Optimizer):
    """Steps over the root of the mean of squared gradients."""

    def __init__(self, learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False, name="RMSProp"):
        super().__init__(lambda: tf.keras.optimizers.RMSprop(_start(learning_rate), decay, momentum, epsilon, centered), learning_rate)


class AdagradOptimizer(Optimizer):
    """Steps over the root of the sum of squared gradients."""

    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"):
        super().__init__(lambda: tf.keras.optimizers.Adagrad(_start(learning_rate), initial_accumulator_value), learning_rate)
