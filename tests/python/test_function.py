"""tf.function: traced once a signature, run as one plan."""
import copy
import gc
import pickle
import re
import threading
import weakref
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
import tandemflow as tf


def test_is_traced_once_and_gives_what_its_ops_give():
    traced = []

    @tf.function
    def f(x, y):
        traced.append(x)
        return tf.matmul(x, y) + 2.0 * x

    a, b = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[5.0, 6.0], [7.0, 8.0]])
    for _ in range(3):
        np.testing.assert_array_equal(f(a, b).numpy(), (tf.matmul(a, b) + 2.0 * a).numpy())
    assert len(traced) == f.experimental_get_tracing_count() == 1
    assert f.__name__ == "f" and f.python_function(a, b).shape == (2, 2)


def test_says_why_it_was_traced_again():
    f = tf.function(lambda x, flag: x + 1 if flag else x - 1, name="step")
    f(tf.zeros([32, 100]), True)
    f(tf.zeros([16, 100]), True)
    f(tf.zeros([16, 100]), False)
    f(tf.zeros([16, 100]), True)
    reasons = [retrace.reason for retrace in f.retraces()]
    assert reasons[:2] == ["first call", "input 0 shape [32, 100] -> [16, 100]"]
    assert "flag=True" in reasons[2] and "flag=False" in reasons[2] and len(reasons) == 3


@pytest.mark.parametrize("values", [(1, 1.0), (1, True), (0.0, -0.0), ("a", "b"), (None, 0), ([1], (1,)), ([1], [2])])
def test_python_values_are_told_apart(values):
    f = tf.function(lambda x, value: x)
    for value in values * 3:
        f(tf.constant(1.0), value)
    assert f.experimental_get_tracing_count() == 2


def test_takes_decorator_arguments_keywords_and_defaults():
    @tf.function(reduce_retracing=True, jit_compile=True, autograph=False)
    def f(x, scale=3.0, *, shift=None):
        return x * scale if shift is None else x * scale + shift

    x = tf.constant(2.0)
    assert f(x).numpy() == 6 and f(x, scale=4.0).numpy() == 8
    for _ in range(2):
        assert f(x, shift=tf.constant(1.0)).numpy() == 7
        assert f(shift=tf.constant(1.0), x=x).numpy() == 7  # another order than the parameters have
    assert f.experimental_get_tracing_count() == 3
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        f()


def test_structures_go_in_and_come_out():
    Point = namedtuple("Point", ["x", "y"])

    @tf.function
    def f(pair, table):
        return {"sum": pair[0] + pair[1], "rest": [table["a"], None, (table["b"],)]}, Point(pair[0], 1), ()

    for _ in range(2):
        out, point, empty = f((tf.constant(1.0), np.float32(2)), {"b": np.ones(2, np.int32), "a": tf.constant([1, 2])})
        assert list(out) == ["sum", "rest"] and out["sum"].numpy() == 3 and out["rest"][1] is None
        assert out["rest"][2][0].dtype == tf.int32 and type(point) is Point and point.y.numpy() == 1 and empty == ()
    assert f.experimental_get_tracing_count() == 1
    assert tf.function(lambda: None)() is None
    with pytest.raises(TypeError, match="found return value of type object"):
        tf.function(object)()


def test_numpy_arrays_are_tensors():
    f = tf.function(lambda x: x * 2)
    assert f(np.array([1.0, 2.0], np.float32)).numpy().tolist() == [2, 4]
    assert f(np.array([3.0, 4.0], np.float32)).numpy().tolist() == [6, 8]
    assert f.experimental_get_tracing_count() == 1


def test_variables_are_read_and_assigned_when_it_runs():
    v = tf.Variable(1.0)

    @tf.function
    def f(x, variable):
        before = v.value()
        variable.assign_add(x)
        return before, v * 10.0

    for expected in (1, 4, 7):
        before, after = f(tf.constant(3.0), v)
        assert before.numpy() == expected and after.numpy() == 10 * (expected + 3)
    other = tf.Variable(0.0)
    f(tf.constant(3.0), other)
    assert other.numpy() == 3 and v.numpy() == 10


def test_variables_may_be_made_at_the_first_call_only():
    class Layer:
        v = None

        @tf.function
        def __call__(self, x):
            if self.v is None:
                self.v = tf.Variable(2.0)
            return x * self.v

    layer = Layer()
    assert layer(tf.constant(3.0)).numpy() == 6
    layer.v.assign(5.0)
    assert layer(tf.constant([3.0])).numpy() == [15]
    always = tf.function(lambda: tf.Variable(1.0) + 1.0)
    for _ in range(2):
        with pytest.raises(ValueError, match="tf.function only supports singleton tf.Variables created on the first call"):
            always()


class Counter:
    def __init__(self, start):
        self.start = start

    @tf.function
    def add(self, x):
        return x + self.start


def test_every_object_has_traces_of_its_own():
    one, two = Counter(1.0), Counter(2.0)
    x = tf.constant(1.0)
    assert [one.add(x).numpy(), two.add(x).numpy(), one.add(x).numpy()] == [2, 3, 2]
    assert one.add is one.add and one.add is not two.add
    assert one.add.experimental_get_tracing_count() == 1
    assert Counter(5.0).add(x).numpy() == 6
    copied = copy.copy(one)
    copied.start = 7.0
    assert copied.add(x).numpy() == 8 and one.add(x).numpy() == 2
    assert pickle.loads(pickle.dumps(one)).add(x).numpy() == 2 and copy.deepcopy(one).add(x).numpy() == 2


def test_an_object_with_traces_can_be_freed():
    counter = Counter(1.0)
    counter.add(tf.constant(1.0))
    gone = weakref.ref(counter)
    del counter
    gc.collect()
    assert gone() is None


def test_objects_without_a_dict_and_other_objects_are_arguments():
    class Slots:
        __slots__ = ("k",)

        @tf.function
        def times(self, x):
            return x * self.k

    a, b = Slots(), Slots()
    a.k, b.k = 2.0, 3.0
    assert [s.times(tf.constant(1.0)).numpy() for s in (a, b, a)] == [2, 3, 2]


def test_symbolic_tensors_know_dtype_and_shape_but_no_value():
    seen = []

    @tf.function
    def f(x):
        seen.extend([x.shape, x.dtype, len(x), repr(x), str(x), f"{x}", tf.executing_eagerly()])
        return sum(row for row in x)

    assert f(tf.ones([3, 2])).numpy().tolist() == [3, 3]
    assert seen[:3] == [(3, 2), tf.float32, 3] and seen[6] is False and tf.executing_eagerly()
    assert seen[3] == "<tf.Tensor 'x:0' shape=(3, 2) dtype=float32>"  # named after the parameter
    assert seen[4] == seen[5] == 'Tensor("x:0", shape=(3, 2), dtype=float32)'


@pytest.mark.parametrize("read", [bool, int, float, range, np.asarray, lambda x: x.numpy(), lambda x: 1 if x > 0 else 2])
def test_reading_a_symbolic_tensor_names_the_line_and_the_remedy(read):
    v = tf.Variable(1)
    for body in (lambda x: read(x), lambda x: read(v + 0 * x)):
        with pytest.raises(tf.errors.FailedPreconditionError, match="E0701.*test_function.py:.*run_functions_eagerly"):
            tf.function(body, autograph=False)(tf.constant(1))
    assert tf.add(1, 2).numpy() == 3  # tracing has ended


def test_a_branch_on_a_tensor_is_pointed_at_where_it_is_not_converted():
    @tf.function(autograph=False)
    def f(x):
        if tf.reduce_sum(x) > 0:  # the line
            return x
        return -x

    with pytest.raises(tf.errors.FailedPreconditionError, match=r"`if tf.reduce_sum\(x\) > 0:  # the line`.*tf.where"):
        f(tf.ones([2]))


def test_a_tensor_that_escaped_its_trace_is_a_clear_error():
    escaped = []
    tf.function(escaped.append)(tf.constant(1.0))
    with pytest.raises(tf.errors.FailedPreconditionError, match="E070"):
        escaped[0] + 1.0
    with pytest.raises(tf.errors.FailedPreconditionError, match="E0702"):
        tf.function(lambda x: x)(escaped[0])


def test_recursion_without_end_is_a_clear_error_and_one_that_ends_works():
    @tf.function
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert power(tf.constant(2.0), 5).numpy() == 32
    with pytest.raises(tf.errors.FailedPreconditionError, match="E0702"):
        power(tf.constant(2.0), 0)
    assert power(tf.constant(3.0), 2).numpy() == 9


def test_an_exception_of_the_function_comes_out_as_it_is():
    @tf.function
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        f(tf.constant(1.0))
    assert tf.executing_eagerly()


def test_tapes_outside_and_inside():
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    x = tf.constant([[0.1, 0.2], [0.3, 0.4]])
    body = lambda x: tf.reduce_sum(tf.tanh(tf.matmul(x, w)))  # noqa: E731
    traced = tf.function(body)

    def gradients(f):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return [g.numpy() for g in tape.gradient(y, [x, w])]

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = body(x)
        return tape.gradient(y, [x, w])

    expected = gradients(body)
    for _ in range(2):
        for got in (gradients(traced), [g.numpy() for g in inside(x)]):
            for a, b in zip(expected, got):
                np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_training_step_is_one_function():
    w = tf.Variable([[0.0], [0.0]])
    rng = np.random.default_rng(1)
    xs = rng.normal(size=(64, 2)).astype(np.float32)
    ys = xs @ np.array([[2.0], [-3.0]], np.float32)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    losses = [float(step(xs, ys)) for _ in range(100)]
    assert losses[-1] < 1e-4 < losses[0] and step.experimental_get_tracing_count() == 1
    np.testing.assert_allclose(w.numpy(), [[2], [-3]], atol=1e-2)


def test_runs_under_a_device_scope():
    f = tf.function(lambda x: x + 1.0)
    with tf.device("/CPU:0"):
        assert f(tf.constant(1.0)).numpy() == 2
        assert f(tf.constant(2.0)).device.endswith("CPU:0")


def test_input_signature_converts_and_refuses():
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def f(x):
        return x * 2

    assert f([[1, 2]]).numpy().tolist() == [[2, 4]]
    assert f(np.ones((3, 2), np.float32)).shape == (3, 2)
    for wrong in (tf.ones([2, 3]), tf.ones([2]), tf.ones([1, 2], tf.float64)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="argument 'x' is a tensor of .* input_signature says"):
            f(wrong)
    with pytest.raises(TypeError):
        f(tf.ones([1, 2]), 1)


def test_concrete_functions_can_be_called_and_looked_into():
    @tf.function
    def f(x, training):
        return {"y": tf.matmul(x, x) if training else x}

    concrete = f.get_concrete_function(tf.TensorSpec([2, 2]), True)
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    for result in (concrete(x), concrete(x, True), concrete(x=x, training=True)):
        np.testing.assert_array_equal(result["y"].numpy(), tf.matmul(x, x).numpy())
    assert f.experimental_get_tracing_count() == 1
    assert "matmul" in concrete.graph.to_string() and "digraph" in concrete.graph.to_dot()
    assert concrete.graph.op_count == concrete.graph.optimized.op_count == 1
    assert concrete.inputs == [tf.TensorSpec([2, 2])] and concrete.structured_outputs == {"y": tf.TensorSpec([2, 2])}
    assert concrete.structured_input_signature == ((tf.TensorSpec([2, 2], name="x"), True), {})
    assert any("matmul" in text for text in concrete.decisions())
    for wrong in ((x, False), (tf.ones([3, 3]),), (x, x)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            concrete(*wrong)


def test_functions_inside_functions_become_part_of_them():
    inner = tf.function(lambda x, k: {"y": x * k})
    outer = tf.function(lambda x: inner(x, 2)["y"] + inner(x, 3)["y"])
    assert outer(tf.constant(1.0)).numpy() == 5
    assert inner.experimental_get_tracing_count() == 0 and outer.experimental_get_tracing_count() == 1


def test_runs_op_by_op_when_asked():
    f = tf.function(lambda x: x + x.numpy())
    tf.config.run_functions_eagerly(True)
    try:
        assert tf.config.functions_run_eagerly() and f(tf.constant(2.0)).numpy() == 4
    finally:
        tf.config.run_functions_eagerly(False)
    with pytest.raises(tf.errors.FailedPreconditionError):
        f(tf.constant(2.0))


def test_numerics_are_checked_when_asked():
    f = tf.function(lambda x: tf.math.log(x) + 1.0)
    assert np.isnan(f(tf.constant(-1.0)).numpy())
    tf.debugging.enable_check_numerics()
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match="E0703"):
            f(tf.constant(-1.0))
    finally:
        tf.debugging.disable_check_numerics()
    assert np.isnan(f(tf.constant(-1.0)).numpy())


def test_threads_call_one_function():
    f = tf.function(lambda x, n: tf.reduce_sum(x) * n)
    wrong = []

    def work(k):
        for size in (10, 50_000):  # held and released lock
            for _ in range(20):
                got = f(tf.fill([size], float(k)), 1.0).numpy()
                if got != k * size:
                    wrong.append((k, size, got))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_print_prints_tensors(capsys):
    tf.print(tf.constant([1.0, 2.5]), "and", tf.range(10), [tf.constant(3)], tf.constant(["a"]))
    tf.print(tf.constant([[1, 2], [3, 4]]), end="!\n")
    assert capsys.readouterr().err == "[1 2.5] and [0 1 2 ... 7 8 9] [3] [\"a\"]\n[[1 2]\n [3 4]]!\n"


def test_the_programs_of_the_documentation_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # they write files
    text = (Path(__file__).parents[2] / "docs" / "graphs.md").read_text()
    program = tmp_path / "program.py"  # control flow is converted from the source
    program.write_text("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)))
    exec(compile(program.read_text(), program, "exec"), {})
    printed = capsys.readouterr().out
    assert "first call" in printed and "matmul" in printed and "digraph" in printed


def test_sizes_are_known_while_a_function_is_traced():
    @tf.function
    def f(x):
        rows, columns = tf.shape(x)[0], tf.shape(x)[1]
        noise = tf.zeros((rows, columns * 2)) + tf.cast(rows, tf.float32)
        return tf.reshape(noise, [rows * 2, -1]), tf.range(rows) if rows > 2 else None

    reshaped, numbers = f(tf.ones((3, 4)))
    assert reshaped.shape == (6, 4) and reshaped.numpy().tolist() == [[3.0] * 4] * 6
    assert numbers.numpy().tolist() == [0, 1, 2]
    assert f(tf.ones((2, 4)))[1] is None


def test_gradients_through_a_function_whose_result_is_read_by_its_own_gradient():
    """tanh's gradient reads tanh's result: the value is a result twice, and must count once."""
    x, y = tf.constant([[0.1, 0.2], [0.3, 0.4]]), tf.constant([[0.3, 0.1], [0.2, 0.5]])

    def f(x, y):
        return tf.tanh(tf.matmul(x, y))

    def gradients(function):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            value = tf.reduce_sum(function(x, y) * 2.0)
        return tape.gradient(value, [x, y])

    for traced, eager in zip(gradients(tf.function(f)), gradients(f)):
        np.testing.assert_allclose(traced, eager, rtol=1e-6)


def test_a_value_that_is_returned_twice_has_two_gradients():
    x = tf.constant([0.1, 0.2])

    @tf.function
    def twice(x):
        y = x * x
        return y, y

    for weights in ((1.0, 0.0), (1.0, 3.0)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            a, b = twice(x)
            value = tf.reduce_sum(a * weights[0] + b * weights[1])
        np.testing.assert_allclose(tape.gradient(value, x), 2 * x * sum(weights), rtol=1e-6)


def test_the_operations_of_a_graph_can_be_looked_at():
    scale = tf.Variable(2.0)

    @tf.function
    def cube(x, y):
        return x**3 * scale, tf.matmul(x, y)

    graph = cube.get_concrete_function(tf.ones([2, 2]), tf.ones([2, 2])).graph
    found = graph.get_operations()
    assert [operation.type for operation in found] == ["Placeholder", "Placeholder", "Const", "Pow", "Variable", "Mul", "MatMul", "Identity", "Identity"]
    power = graph.get_operation_by_name("pow")
    assert [tensor.name for tensor in power.inputs] == ["x:0", "constant:0"] and power.outputs[0].shape == [2, 2]
    assert graph.get_tensor_by_name("Identity_1:0").op.inputs[0].name == "matmul:0"
    assert [node.op for node in graph.as_graph_def().node] == [operation.type for operation in found]
    assert found[6].get_attr("transpose_a") is False
    with pytest.raises(KeyError, match="'zz' refers to an Operation which does not exist; there are x, y"):
        graph.get_operation_by_name("zz")


def test_a_concrete_function_of_open_sizes_takes_all_of_them():
    @tf.function
    def power(a, b):
        return a**b

    square = power.get_concrete_function(tf.TensorSpec([None, 2], tf.float32), b=2)
    assert square(tf.fill([3, 2], 2.0)).numpy().tolist() == [[4, 4]] * 3 and square(tf.ones([1, 2])).shape == (1, 2)
    assert square.output_shapes.as_list() == [None, 2] and square.output_dtypes == tf.float32
    assert square.structured_input_signature == ((tf.TensorSpec([None, 2], tf.float32, name="a"), 2), {})
    assert str(square).splitlines()[1:3] == [
        "  a (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)",
        "  b (POSITIONAL_OR_KEYWORD): Literal[2]",
    ]
    with pytest.raises(ValueError, match=r"shape=\(None, 2\).*got TensorSpec\(shape=\(3,\)"):
        square(tf.ones([3]))
    with pytest.raises(TypeError, match="traced for .*b=2.*got .*b=3"):
        square(tf.ones([3, 2]), b=3)


def test_a_concrete_function_of_open_rank_takes_tensors_of_any():
    double = tf.function(lambda x: x * 2).get_concrete_function(tf.TensorSpec(None, tf.float32))
    assert double(tf.constant(3.0)).numpy() == 6 and double(tf.ones([2, 2])).shape == (2, 2)
    assert double.output_shapes.rank is None


def test_tensors_of_a_trace_are_named_after_their_parameters():
    seen = []
    tf.function(lambda a, *, rest: seen.extend([str(a), *map(str, rest)]))(tf.constant(1), rest=[tf.constant(1.0), tf.constant(2.0)])
    assert [text.split('"')[1] for text in seen] == ["a:0", "rest:0", "rest_1:0"]


def test_reduce_retracing_leaves_sizes_open_that_change():
    @tf.function(reduce_retracing=True)
    def f(x):
        return tf.reduce_sum(x, axis=0)

    for rows in range(1, 6):
        assert f(tf.ones([rows, 2])).numpy().tolist() == [rows, rows]
    assert f.experimental_get_tracing_count() == 2
    assert f(tf.ones([3, 4])).shape == (4,)

    class Model:
        @tf.function(reduce_retracing=True)
        def double(self, x):
            return x * 2

    model = Model()
    for size in range(1, 5):
        model.double(tf.ones([size]))
    assert model.double.experimental_get_tracing_count() == 2


def test_a_concrete_function_that_leaves_sizes_open_can_be_a_signature(tmp_path):
    class Scaler(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.ones([3, 2]))

        @tf.function
        def __call__(self, x):
            return tf.matmul(x, self.w)

    module = Scaler()
    tf.saved_model.save(module, tmp_path / "m", signatures=module.__call__.get_concrete_function(tf.TensorSpec([None, 3], name="x")))
    serve = tf.saved_model.load(tmp_path / "m").signatures["serving_default"]
    for rows in (2, 5):
        assert serve(x=tf.ones([rows, 3]))["output_0"].shape == (rows, 2)


def test_get_concrete_function_without_arguments_takes_the_input_signature():
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def sums(x):
        return tf.reduce_sum(x, 1)

    concrete = sums.get_concrete_function()
    assert concrete(tf.ones([2, 5])).numpy().tolist() == [5.0, 5.0]
    assert concrete.outputs == [tf.TensorSpec([None])]
