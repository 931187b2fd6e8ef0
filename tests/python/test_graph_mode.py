"""Programs of TensorFlow 1: graphs, placeholders and sessions. The printed answers were TensorFlow's first."""
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tandemflow as tf

v1 = tf.compat.v1

TRAINING = """
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
rng = np.random.RandomState(0)
rows = rng.rand(256, 12).astype('f')
labels = (rows @ rng.randn(12, 3)).argmax(1)
x, y, rate = tf.placeholder(tf.float32, [None, 12]), tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [])
with tf.variable_scope('hidden'):
    w = tf.get_variable('w', [12, 16], initializer=tf.random_normal_initializer(stddev=0.1))
    h = tf.nn.relu(tf.matmul(x, w) + tf.get_variable('b', [16], initializer=tf.zeros_initializer()))
logits = tf.matmul(h, tf.Variable(tf.random_normal([16, 3], stddev=0.1), name='out'))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
step = tf.Variable(0, trainable=False, name='step')
train = tf.train.OPTIMIZER.minimize(loss, global_step=step)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    first = session.run(loss, {x: rows, y: labels})
    for epoch in range(10):
        for i in range(0, 256, 60):
            session.run([train, loss], feed_dict={x: rows[i:i + 60], y: labels[i:i + 60], rate: 0.05})
    last, right, steps = session.run((loss, accuracy, step), {x: rows, y: labels})
    print(last < first, right > 0.6, steps, [v.name for v in tf.trainable_variables()], tf.executing_eagerly())
"""


@pytest.mark.parametrize("optimizer", ["AdamOptimizer(rate)", "MomentumOptimizer(0.2, 0.9)", "GradientDescentOptimizer(learning_rate=0.9)", "RMSPropOptimizer(0.02)", "AdagradOptimizer(0.3)"])
def test_a_network_is_trained_in_a_session(tmp_path, optimizer):
    (tmp_path / "train.py").write_text(TRAINING.replace("OPTIMIZER", optimizer))
    done = subprocess.run([sys.executable, "-m", "tandemflow", "run", str(tmp_path / "train.py")], capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("True True 50 ['hidden/w:0', 'hidden/b:0', 'out:0'] False\n", "")


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_fetches_are_nested_as_they_are_asked_for(graph):
    a = v1.placeholder(tf.float32, [None, 2], name="a")
    total, parts = tf.reduce_sum(a, axis=1), tf.split(a, 2, axis=1)
    with v1.Session() as session:
        found = session.run({"t": total, "p": (parts, [tf.shape(a)[0]])}, {a: [[1, 2], [3, 4], [5, 6]]})
    assert found["t"].tolist() == [3, 7, 11] and found["p"][0][1].tolist() == [[2], [4], [6]] and found["p"][1] == [3]
    assert (total.shape.as_list(), parts[0].shape.as_list(), a.name, graph.get_tensor_by_name("a:0")) == ([None], [None, 1], "a:0", a)
    assert str(a) == 'Tensor("a:0", shape=(None, 2), dtype=float32)' and not tf.executing_eagerly()


def test_branches_and_loops_take_tensors_from_around_them(graph):
    a, n = v1.placeholder(tf.int32, []), v1.placeholder_with_default(tf.constant(5), [])
    total = tf.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t + i * a), [0, 0])[1]
    branch = tf.cond(a > 2, lambda: a * 10, lambda: a - 1)
    squares = tf.map_fn(lambda x: x * x + a, tf.range(4))
    with v1.Session() as session:
        assert session.run([total, branch], {a: 3}) == [30, 30]
        assert session.run([total, branch], {a: 1, n: 3}) == [3, 0]
        assert session.run(squares, {a: 1}).tolist() == [1, 2, 5, 10]


def test_variables_change_when_their_operations_run(graph):
    v = v1.Variable(1.0, name="v")
    more = v1.assign_add(v, 2.0)
    with tf.control_dependencies([more]):
        after = tf.identity(v) * 10.0
    with v1.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            session.run(v)
        session.run(v1.global_variables_initializer())
        assert (session.run(v), session.run(after), session.run(after), v.eval()) == (1, 30, 50, 5)
        session.run(v.initializer)
        assert session.run(v) == 1 and isinstance(v, tf.Variable)


def test_derivatives_are_tensors_of_the_graph(graph):
    x, w = v1.placeholder(tf.float32, [None]), v1.get_variable("w", initializer=tf.constant([3.0]))
    y = tf.reduce_sum(x * x * w)
    by_x, by_w = tf.gradients(y, [x, w])
    second = tf.gradients(by_x, x)[0]
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        found = session.run([by_x, by_w, second], {x: [1, 2]})
    assert [one.tolist() for one in found] == [[6, 12], [5], [6, 6]]


def test_random_numbers_are_drawn_anew_in_every_run(graph):
    drawn = tf.random.uniform([4])
    with v1.Session() as session:
        assert not np.array_equal(session.run(drawn), session.run(drawn))


def test_variables_begin_with_other_numbers_whenever_they_are_initialized(graph):
    v, w = v1.get_variable("v", [3, 4], initializer=v1.random_normal_initializer()), v1.get_variable("w", [3])
    with v1.Session() as session:
        found = []
        for _ in range(2):
            session.run(v1.global_variables_initializer())
            found.append(session.run([v, w]))
    assert not any(np.array_equal(*pair) for pair in zip(*found))


def test_names_of_variables_are_asked_for_again_only_where_a_scope_allows_it(graph):
    with v1.variable_scope("a"):
        first = v1.get_variable("w", [2])
        with pytest.raises(ValueError, match="a/w already exists, disallowed"):
            v1.get_variable("w", [2])
    with v1.variable_scope("a", reuse=v1.AUTO_REUSE):
        assert v1.get_variable("w", [2]) is first and first.name == "a/w:0"
        assert tf.add(first, 1.0, name="more").name == "a/more:0" and v1.Variable(1.0).name == "a/Variable:0"
    with tf.name_scope("b"):
        assert v1.get_variable("free", [2]).name == "free:0" and tf.constant(1.0, name="c").name == "b/c:0"
    with v1.variable_scope("a", reuse=True), pytest.raises(ValueError, match="does not exist"):
        v1.get_variable("other", [2])


def test_a_saver_writes_what_it_restores(graph, tmp_path):
    v = v1.get_variable("v", initializer=[1.0, 2.0])
    saver = v1.train.Saver()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"), global_step=7)
        session.run(v.assign([0.0, 0.0]))
        saver.restore(session, path)
        assert path.endswith("model-7") and session.run(v).tolist() == [1, 2]
    assert tf.train.list_variables(path) == [("v", [2])]


def test_mistakes_are_named(graph):
    x = v1.placeholder(tf.float32, [None, 2], name="x")
    y = x * 2.0
    session = v1.Session()
    with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value for placeholder tensor 'x'"):
        session.run(y)
    with pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\) for Tensor x:0"):
        session.run(y, {x: [1, 2, 3]})
    with pytest.raises(TypeError, match="has invalid type"):
        session.run(5)
    with pytest.raises(TypeError, match="feed_dict key"):
        session.run(y, {"x": [[1, 2]]})
    with pytest.raises(TypeError, match="Python `bool`"):
        bool(y > 0)
    with pytest.raises(NotImplementedError, match="numpy array"):
        np.asarray(y)
    with pytest.raises(tf.errors.InvalidArgumentError, match="matmul"):
        tf.matmul(x, x)
    with pytest.raises(ValueError, match="No default session"):
        y.eval()
    with session.as_default():
        assert y.eval({x: [[1, 2]]}).tolist() == [[2, 4]]
    other = tf.Graph()
    with other.as_default():
        stranger = tf.constant(1)
    with pytest.raises(ValueError, match="not an element of this graph"):
        session.run(stranger)
    session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(y)


def test_ops_run_at_once_outside_of_graphs():
    with tf.Graph().as_default():
        node = tf.constant(1)
    assert tf.executing_eagerly() and (tf.constant(1) + 1).numpy() == 2 and tf.Variable(2.0).numpy() == 2
    assert pickle.loads(pickle.dumps(tf.constant([1, 2]))).numpy().tolist() == [1, 2] and pickle.loads(pickle.dumps(tf.math.sqrt)) is tf.math.sqrt
    with pytest.raises(RuntimeError, match="outside of it"):
        node + 1
    with pytest.raises(RuntimeError, match="not compatible with eager execution"):
        v1.placeholder(tf.float32)


def test_traced_functions_are_converted_as_before_once_a_graph_was_built():
    with tf.Graph().as_default():
        tf.constant(1)
    turns = []

    @tf.function
    def total(n):
        s = 0
        for i in tf.range(n):
            turns.append(1)
            s += i
        return s

    assert total(tf.constant(5)).numpy() == 10 and len(turns) == 1
