"""GradientTape, and functions that say their own gradient."""
import enum
import functools
import warnings
from contextlib import contextmanager

from . import _tandem
from .errors import FailedPreconditionError


class UnconnectedGradients(enum.Enum):
    """What the gradient is where nothing connects target and source."""

    NONE = "none"
    ZERO = "zero"


def flatten(structure):
    """The leaves of nested lists, tuples and dicts."""
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for item in structure for leaf in flatten(item)]
    return [structure]


def pack_like(structure, leaves):
    """The leaves, an iterator, nested as `structure` is."""
    if isinstance(structure, dict):
        packed = {key: pack_like(structure[key], leaves) for key in sorted(structure)}
        return {key: packed[key] for key in structure}
    if isinstance(structure, (list, tuple)):
        items = [pack_like(item, leaves) for item in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*items)
        return items if isinstance(structure, list) else tuple(items)
    return next(leaves)


class GradientTape:
    """Records the ops inside its `with` block and gives gradients afterwards.

    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    dw = tape.gradient(loss, w)
    """

    def __init__(self, persistent=False, watch_accessed_variables=True):
        self._tape = _tandem.Tape(bool(persistent), bool(watch_accessed_variables))
        self._watched = []
        self._recorded = False

    def __enter__(self):
        if self._tape.recording():
            raise ValueError("Tape is still recording, This can happen if you try to re-enter an already-active tape.")
        self._tape.start()
        self._recorded = True
        return self

    def __exit__(self, *exception):
        if self._tape.recording():
            self._tape.stop()

    def watch(self, tensor):
        """What is computed from the tensor (or tensors of a structure) can be differentiated."""
        for leaf in flatten(tensor):
            if not isinstance(leaf, (_tandem.Tensor, _tandem.Variable)) and not hasattr(leaf, "dtype"):
                raise ValueError(f"Passed in object {leaf} of type {type(leaf).__name__!r}, not tf.Tensor or tf.Variable or ExtensionType.")
            if leaf.dtype.is_complex:
                self._tape.watch(leaf._re), self._tape.watch(leaf._im)
            elif leaf.dtype.is_floating:
                self._tape.watch(leaf)
                if isinstance(leaf, _tandem.Variable):
                    self._watched.append(leaf)
            else:
                message = f"The dtype of the watched tensor must be floating (e.g. tf.float32), got {leaf.dtype!r}"
                warnings.warn(message, stacklevel=2)

    @contextmanager
    def stop_recording(self):
        """Ops inside are not recorded."""
        if not self._tape.recording():
            raise ValueError("Tape is not recording")
        self._tape.stop()
        try:
            yield
        finally:
            self._tape.start()

    def reset(self):
        """Forgets everything recorded and watched."""
        self._watched = []
        self._tape.reset()

    def watched_variables(self):
        """The variables that were watched, and the trainable ones read while the tape recorded, in order."""
        read = self._tape.watched_variables()
        return (*(v for v in self._watched if not any(v is other for other in read)), *read)

    def jacobian(
        self, target, sources, unconnected_gradients=UnconnectedGradients.NONE, parallel_iterations=None, experimental_use_pfor=True
    ):
        """The derivative of every element of the target, of its shape followed by the source's; nested as the sources are."""
        zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
        return pack_like(sources, iter(self._tape.jacobian(target, flatten(sources), zero)))

    def batch_jacobian(
        self, target, source, unconnected_gradients=UnconnectedGradients.NONE, parallel_iterations=None, experimental_use_pfor=True
    ):
        """The Jacobian of each row of a batch: target [b, ...] and source [b, ...] give [b, target..., source...]."""
        for what, tensor in (("target", target), ("source", source)):
            if tensor.shape.rank < 2:
                raise ValueError(f"batch_jacobian: the {what} has shape {tensor.shape}; it must have rank at least 2, the first axis being the batch")
        UnconnectedGradients(unconnected_gradients)
        return self._tape.batch_jacobian(target, source, True)  # zeros where unconnected, whatever is asked for, as in TensorFlow

    def gradient(self, target, sources, output_gradients=None, unconnected_gradients=UnconnectedGradients.NONE):
        """The gradients of the target, or of the sum of targets, nested as the sources are; None where unconnected."""
        if not self._recorded:
            raise FailedPreconditionError("the tape has recorded nothing: compute inside `with tf.GradientTape() as tape:`, then ask for gradients")
        zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
        targets = flatten(target)
        for one in [*targets, *flatten(sources)]:
            if not hasattr(one, "dtype"):
                raise TypeError(f"gradient: targets and sources must be tensors or variables, got {one!r} of type {type(one).__name__}")
        if any(getattr(one.dtype, "is_complex", False) for one in [*targets, *flatten(sources)] if hasattr(one, "dtype")):
            return self._complex_gradient(targets, sources, output_gradients, unconnected_gradients)
        weights = []
        if output_gradients is not None:
            single = not isinstance(target, (dict, list, tuple))
            given = [output_gradients] if single else flatten(output_gradients)
            if len(given) != len(targets):
                raise ValueError(f"gradient: {len(targets)} targets, but {len(given)} output_gradients")
            weights = [None if w is None else _tandem.to_tensor_beside(w, t.dtype) for w, t in zip(given, targets)]
        of_itself = {}  # by id of a variable that is a target: its gradient where the tape did not see it read
        for number, target in enumerate(targets):
            if isinstance(target, _tandem.Variable) and target.trainable:
                of_itself[id(target)] = weights[number] if weights else _tandem.fill(target.shape, 1, target.dtype)
        gradients = self._tape.gradient(targets, flatten(sources), weights, zero and not of_itself)
        if of_itself:
            gradients = [of_itself.get(id(source)) if found is None else found for source, found in zip(flatten(sources), gradients)]
            gradients = [_tandem.fill(source.shape, 0, source.dtype) if zero and found is None else found for source, found in zip(flatten(sources), gradients)]
        return pack_like(sources, (_shown(gradient) for gradient in gradients))


    def _complex_gradient(self, targets, sources, output_gradients, unconnected_gradients):
        """As TensorFlow: of a complex target the real part counts; a complex source gets the derivatives by its parts as parts."""
        from ._complex import ComplexTensor

        if output_gradients is not None:
            raise NotImplementedError("gradient: output_gradients with complex targets or sources are not supported")
        targets = [one._re if one.dtype.is_complex else one for one in targets]
        listed, parts = flatten(sources), []
        for one in listed:
            parts += [one._re, one._im] if one.dtype.is_complex else [one]
        found = iter(self.gradient(targets, parts, None, unconnected_gradients))
        made = []
        for one in listed:
            re, im = (next(found), next(found)) if one.dtype.is_complex else (next(found), None)
            if one.dtype.is_complex and (re is not None or im is not None):
                re, im = (_tandem.fill(one.shape, 0, one.dtype.real_dtype) if part is None else part for part in (re, im))
                re = ComplexTensor(re, im)
            made.append(re)
        return pack_like(sources, iter(made))


def _shown(gradient):
    """Rows that tf.gather took are shown as such, as TensorFlow does."""
    if not isinstance(gradient, tuple):
        return gradient
    from ._indexed_slices import IndexedSlices

    return IndexedSlices.of_gradient(*gradient)


def dense(gradient):
    """The whole tensor of what a tape gave."""
    return gradient if gradient is None or isinstance(gradient, _tandem.Tensor) or not hasattr(gradient, "to_dense") else gradient.to_dense()


def _listed(gradients):
    return list(gradients) if isinstance(gradients, (list, tuple)) else [gradients]


def custom_gradient(f=None):
    """A function that gives its result and its gradient: f(*x) returns y and a function from dy to dx.

    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    When f reads trainable variables, its gradient takes them as `variables` and returns dx and a list for them.
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        structure = None

        def forward(inputs):
            nonlocal structure
            structure, grad = f(*pack_like(args, iter(inputs)), **kwargs)

            def backward(output_gradients, variables):
                if not variables:
                    return _listed(grad(*output_gradients))
                try:
                    gradients, of_variables = grad(*output_gradients, variables=variables)
                except TypeError as error:
                    if "variables" not in str(error):
                        raise
                    names = ", ".join(variable.name for variable in variables)
                    raise TypeError(
                        f"{f.__name__} reads trainable variables ({names}): its gradient must take `variables` "
                        "and return the gradients of its inputs and a list of theirs"
                    ) from error
                return _listed(gradients) + list(of_variables)

            return flatten(structure), backward

        outputs = _tandem.custom_gradient(_read(args), forward)
        return pack_like(structure, iter(outputs))

    return decorated


def _read(args):
    """The leaves of args; a variable among them is read here, so that it is an input like others and none that the function reads."""
    identity = _tandem.ops()["identity"]
    return [identity(arg) if isinstance(arg, _tandem.Variable) else arg for arg in flatten(args)]


def recompute_grad(f):
    """f, keeping nothing of its inside for the gradient, which calls it again: memory for time."""

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        structure = None

        def forward(inputs):
            nonlocal structure
            structure = f(*pack_like(args, iter(inputs)), **kwargs)
            return flatten(structure)

        outputs = _tandem.recompute_grad(_read(args), forward)
        return pack_like(structure, iter(outputs))

    return decorated
