"""`for` over tensors, ranges of tensors, datasets and everything else."""
from .. import _loops, _ops, _tandem, nest
from .._branch_values import LoopState, Restart
from .._loops import is_symbolic
from .lazy_range import LazyRange


def for_stmt(values, extra_test, body, get_state, set_state, names):
    """Runs body(element) for each element, as long as extra_test() holds."""
    if not _tandem.executing_eagerly():
        from .._dataset import Dataset, DatasetIterator

        if hasattr(values, "divided"):  # among replicas, inside the loop
            state = _loops.scoped(get_state, set_state, names)
            return _over_dataset(values.whole, extra_test, lambda element: body(values.divided(element)), *state, names)

        kinds = [(LazyRange, _over_range), ((_tandem.Tensor, _tandem.Variable), _over_rows), ((Dataset, DatasetIterator), _over_dataset)]
        for kind, loop in kinds:
            if isinstance(values, kind):
                return loop(values, extra_test, body, *_loops.scoped(get_state, set_state, names), names)
    for value in values:
        go_on = True if extra_test is None else extra_test()
        if is_symbolic(go_on):
            # Whether it has ended is known when it runs: each further turn becomes a branch.
            state = _loops.scoped(get_state, set_state, names)
            _loops.traced_branches(go_on, lambda value=value: body(value), lambda: None, *state, names)
        elif go_on:
            body(value)
        else:
            break
    return None


def _counted(first, is_inside, after, body, extra_test, get_state, set_state, names, turns):
    """A loop of the graph with a counter beside the state."""
    counter = [first]

    def get():
        return (*get_state(), counter[0])

    def set_all(values):
        set_state(values[:-1])
        counter[0] = values[-1]

    def test():
        inside = is_inside(counter[0])
        if extra_test is None:
            return inside
        go_on = extra_test()
        return _ops.logical_and(inside, go_on) if is_symbolic(go_on) or go_on else False

    def turn():
        number = counter[0]
        body(number)
        counter[0] = after(number)

    _loops.traced_loop(test, turn, get, set_all, (*names, "the loop's counter"), turns=-1 if extra_test is not None else turns)


def _over_range(numbers, extra_test, body, get_state, set_state, names):
    count = numbers.count()
    if count == 0:
        return
    turns = -1 if count is None else count
    _counted(numbers.first(), numbers.contains, numbers.after, body, extra_test, get_state, set_state, names, turns)


def _over_rows(rows, extra_test, body, get_state, set_state, names):
    rows = _tandem.to_tensor(rows)
    if rows.ndim == 0:
        raise TypeError("iterating over a scalar tensor: a loop needs a tensor with rows")
    count = rows.shape[0]
    if count == 0:
        return
    first = _tandem.to_tensor(0)
    _counted(
        first, lambda i: _ops.less(i, count), lambda i: i + 1, lambda i: body(_ops.gather(rows, i)), extra_test, get_state, set_state, names, count
    )  # fmt: skip


# --- Datasets. ---


class _Elements:
    """Passes over a dataset. The one that was begun to learn the shapes of the first element is the first to be used."""

    def __init__(self, dataset):
        self._dataset = dataset
        self._begun = None
        self.spec = dataset._exact_spec
        self.is_known = all(leaf.shape.is_fully_defined() for leaf in self._tensor_specs())

    def _tensor_specs(self):
        leaves = nest.flatten(self.spec)
        for leaf in leaves:
            if not hasattr(leaf, "dtype"):
                raise TypeError(f"a loop over a dataset in a traced function needs elements of tensors, got {leaf!r}; loop outside of it")
        return leaves

    def example(self):
        """Tensors without values, like those of the first element."""
        specs = [(leaf.shape, leaf.dtype) for leaf in self._tensor_specs()]
        if not self.is_known:
            first = self._first()
            if first is not None:
                specs = [(leaf.shape, leaf.dtype) for leaf in first]
            else:
                specs = [([1 if size is None else size for size in shape.dims or []], dtype) for shape, dtype in specs]
        return [_tandem.symbolic(shape, dtype) for shape, dtype in specs]

    def _first(self):
        from .._branch_values import at_once

        iterator = at_once(lambda: iter(self._dataset))
        try:
            first = nest.flatten(at_once(lambda: next(iterator)))
        except StopIteration:
            return None
        self._begun = (first, iterator)
        return first

    def begin(self):
        """A function that gives the next element as a list, None at the end."""
        begun, self._begun = self._begun, None
        pending = [begun[0]] if begun else []
        iterator = begun[1] if begun else iter(self._dataset)

        def following():
            if pending:
                return pending.pop()
            try:
                return nest.flatten(next(iterator))
            except StopIteration:
                return None

        return following


def _over_dataset(dataset, extra_test, body, get_state, set_state, names):
    before = get_state()
    try:
        elements = _Elements(dataset)
        example = elements.example()

        def take(leaves):
            body(nest.pack_sequence_as(elements.spec, leaves))

        values = before
        if any(map(_loops._is_unknown, values)):
            values = _loops._first_values(values, names, lambda: _tandem.probe(take, example), get_state, set_state, -1)
        set_state(_run(elements, example, take, extra_test, get_state, set_state, names, values))
    except BaseException:
        set_state(before)
        raise


def _run(elements, example, take, extra_test, get_state, set_state, names, values):
    def ended():
        go_on = True if extra_test is None else extra_test()
        return _ops.logical_not(go_on) if is_symbolic(go_on) else _tandem.to_tensor(not go_on)

    dtypes = {}
    while True:
        state = LoopState(names, values, dtypes)

        def turn(tensors, leaves):
            set_state(state.values(tensors[:-1]))
            take(leaves)
            return [*state.leaves_of(get_state()), ended()]

        set_state(values)
        leaves = [*state.leaves, ended()]
        try:
            return state.values(_tandem.dataset_loop(elements.begin, turn, len(state.leaves), leaves, example))
        except Restart as other:
            dtypes[other.index] = other.dtype
