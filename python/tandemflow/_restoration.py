"""The values of a checkpoint on their way into objects, some of which may not exist yet."""
from . import _object_graph, _tandem
from ._object_graph import VARIABLE, holds_values


class Restoration:
    """Objects and those of the file are matched from the root on, by the names that lead from one to the next."""

    def __init__(self, checkpoint, saved):
        self.checkpoint, self._saved, self._nodes = checkpoint, saved, saved.nodes
        self._taken = {}  # number of a file's object: the objects that have its value
        self._holders = set()  # numbers of matched objects that may get more parts

    def apply(self):
        """Gives the objects that exist, and have no value of the file yet, theirs."""
        pairs = [(value, i) for value, i in self._pairs() if not any(value is other for other in self._taken.get(i, ()))]
        values = [self._values(value, self._nodes[i]) for value, i in pairs]
        for (value, i), new in zip(pairs, values):
            _check(self._name(i), value, new)
        for (value, i), new in zip(pairs, values):
            _give(value, new)
            self._taken.setdefault(i, []).append(value)

    def _pairs(self):
        """(object, number) of all that hold values and have some in the file."""
        queue, seen, found = [(self.checkpoint, 0)], set(), []
        for value, i in queue:
            if (id(value), i) in seen:
                continue
            seen.add((id(value), i))
            node = self._nodes[i]
            if holds_values(value):
                if node.attributes:
                    found.append((value, i))
                continue
            if self._saved.waits_for(value, node):
                continue
            if i or value is not self.checkpoint or self.checkpoint._may_grow():
                self._holders.add(i)
            queue += [(part, node.children[name]) for name, part in self._saved.parts(value) if name in node.children]
        return found

    def _values(self, value, node):
        """{ending of the key: tensor} of an object."""
        attribute, expected = _object_graph.tensors_of(value)
        key = node.attributes.get(attribute)
        if key is None:
            raise ValueError(f"checkpoint: the file has {', '.join(node.attributes)} where {attribute} is needed")
        return {ending: self._saved.tensor(key + ending) for ending in expected}

    def _name(self, i):
        key = next(iter(self._nodes[i].attributes.values()))
        return key.removesuffix(f"/.ATTRIBUTES/{VARIABLE}")

    def unused(self):
        """Names of the values that nothing has taken."""
        return [self._name(i) for i, node in enumerate(self._nodes) if node.attributes and i not in self._taken]

    def missing(self):
        """Names of objects that the file has no value for."""
        taken = {id(value) for values in self._taken.values() for value in values}
        return ["/".join(path) for path, value, _ in _object_graph.walk(self.checkpoint) if holds_values(value) and id(value) not in taken]

    def took_any(self):
        return bool(self._taken)

    def may_go_on(self):
        """Whether values that are left belong to objects that are there: they may find a variable later."""
        queue, seen = list(self._holders), set(self._holders)
        for i in queue:
            if self._nodes[i].attributes and i not in self._taken:
                return True
            queue += [child for child in self._nodes[i].children.values() if not (child in seen or seen.add(child))]
        return False


def _give(value, new):
    if hasattr(value, "_checkpoint_tensors"):
        value._checkpoint_restore(new)
    else:
        value.assign(new[""])


def _check(name, value, new):
    if hasattr(value, "_checkpoint_tensors"):
        return
    shape = value.shape
    fits = shape.is_compatible_with(new[""].shape) if hasattr(shape, "is_compatible_with") else tuple(shape) == tuple(new[""].shape)
    if not fits:
        raise ValueError(f"checkpoint: {name} has shape {tuple(shape)}, the file holds {tuple(new[''].shape)}")
    dtype = getattr(value, "dtype", None)
    if isinstance(value, _tandem.Variable) and dtype != new[""].dtype:
        raise ValueError(f"checkpoint: {name} is of dtype {dtype.name}, the file holds {new[''].dtype.name}")
