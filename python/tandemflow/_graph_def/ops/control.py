"""Calls, branches, loops."""
import tandemflow as tf

from ..support import op


@op("PartitionedCall", "StatefulPartitionedCall", effects=True)
def call(node, *inputs):
    return node.function()(list(inputs))


def _condition(value):
    return tf.cast(tf.reshape(value, []), tf.bool)


@op("If", "StatelessIf", effects=True)
def branch(node, predicate, *inputs):
    then, otherwise = node.function("then_branch"), node.function("else_branch")
    return tf.cond(_condition(predicate), lambda: then(list(inputs)), lambda: otherwise(list(inputs)))


@op("Case", "StatelessCase", effects=True)
def case(node, index, *inputs):
    return tf.switch_case(index, [lambda one=one: one(list(inputs)) for one in node.functions("branches")])


@op("While", "StatelessWhile", effects=True)
def loop(node, *inputs):
    """Variables and other things that do not change are not carried."""
    condition, body = node.function("cond"), node.function("body")
    carried = [i for i, value in enumerate(inputs) if isinstance(value, (tf.Tensor, tf.TensorArray))]

    def all_of(values):
        whole = list(inputs)
        for i, value in zip(carried, values):
            whole[i] = value
        return whole

    def step(*values):
        after = body(all_of(values))
        return [after[i] for i in carried]

    ends = tf.while_loop(lambda *values: _condition(condition(all_of(values))[0]), step, [inputs[i] for i in carried])
    return all_of(ends)
