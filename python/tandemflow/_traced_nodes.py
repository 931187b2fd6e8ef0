"""The nodes of a traced function, for what writes them in another format; sizes that are open stand there as large primes."""

# What open sizes are while a function is traced: what is a multiple of one must come from it.
_PROBES = [1009, 1013, 1019, 1021, 1031, 1033]
_OTHER_PROBES = [1049, 1051, 1061, 1063, 1069, 1087]  # for a second trace: what differs in it depends on an open size


class TracedNode:
    """A node of a traced function: op, attributes, shapes and dtypes of its inputs and outputs."""

    def __init__(self, node, nodes):
        self.op, self.attributes = node["op"], node["attributes"]
        self.shapes = [shape.as_list() for shape, _ in node["outputs"]]
        self.dtypes = [dtype for _, dtype in node["outputs"]]
        specs = [nodes[i]["outputs"][k] for i, k in node["inputs"]]
        self.input_shapes = [shape.as_list() for shape, _ in specs]
        self.input_dtypes = [dtype for _, dtype in specs]

    def __getitem__(self, name):
        return self.attributes[name]


class Probes:
    """Stands for open sizes; `axes` says which axis of which input each is."""

    def __init__(self, who, second=False):
        self.axes, self._inputs, self._who = {}, 0, who
        self._primes = _OTHER_PROBES if second else _PROBES

    def spec(self, spec):
        from ._specs import TensorSpec

        sizes = []
        for axis, size in enumerate(spec.shape):
            if size is None:
                size = self._probe_of(axis)
                self.axes.setdefault(size, (self._inputs, axis))
            sizes.append(int(size))
        self._inputs += 1
        return TensorSpec(sizes, spec.dtype)

    def _probe_of(self, axis):
        """The batch is one and the same for all inputs; other open sizes are each their own."""
        if axis == 0:
            return self._primes[0]
        taken = len([probe for probe in self.axes if probe != self._primes[0]]) + 1
        if taken >= len(self._primes):
            raise NotImplementedError(f"{self._who}: more than {len(self._primes) - 1} open sizes besides the batch")
        return self._primes[taken]


class OpenSizes:
    """Which sizes of a traced function depend on open ones, and how: found by comparing two traces."""

    # Attributes that hold sizes or places; who writes an op has its own way with them.
    _SIZES = ("shape", "begin", "size", "input_sizes", "filter_sizes")

    def __init__(self, first, second, axes, other_axes):
        self._pairs = [(probe, other, axes[probe]) for probe, other in zip(axes, other_axes)]
        self._known, self._fixed = {}, set()
        if [node["op"] for node in first] != [node["op"] for node in second]:
            raise NotImplementedError("what the function does depends on an open size")
        for node, other in zip(first, second):
            self._compare(node, other)
        if clash := self._fixed & set(self._known):
            raise NotImplementedError(f"the size {min(clash)} cannot be told from open ones")

    @classmethod
    def none(cls):
        return cls([], [], {}, {})

    def is_open(self, size):
        return size in self._known

    def expression(self, size):
        """(input, axis, factor, summand) of an open size; None if it is of another form."""
        return self._known[size]

    def _compare(self, node, other):
        for (shape, _), (other_shape, _) in zip(node["outputs"], other["outputs"]):
            for size, other_size in zip(shape.as_list(), other_shape.as_list()):
                self._note(size, other_size)
        for name, value in node["attributes"].items():
            if value != other["attributes"][name] and name not in self._SIZES:
                raise NotImplementedError(f"'{name}' of the op '{node['op']}' depends on an open size")
        if "value" in node and "cell" not in node and node["value"].shape == other["value"].shape:
            values, others = node["value"].numpy(), other["value"].numpy()
            if values.tobytes() != others.tobytes():
                raise NotImplementedError("a number that the function computes depends on an open size")

    def _note(self, size, other):
        if size == other:
            self._fixed.add(size)
            return
        found = None
        for probe, other_probe, axis in self._pairs:
            factor, rest = divmod(size - other, probe - other_probe)
            if rest == 0 and size - factor * probe == other - factor * other_probe and found is None:
                found = (*axis, factor, size - factor * probe)
        if self._known.setdefault(size, found) != found:
            raise NotImplementedError("two different sizes cannot be told apart")


def is_open(size, axes):
    return size > 0 and any(size % probe == 0 for probe in axes)


def reachable(nodes, wanted):
    """The numbers of the nodes that these need, and their own."""
    found, stack = set(), list(wanted)
    while stack:
        number = stack.pop()
        if number not in found:
            found.add(number)
            stack += [i for i, _ in nodes[number]["inputs"]]
    return found
