"""Losses of a few classes out of many: tf.nn.nce_loss, sampled_softmax_loss and the samplers that choose the classes."""
import collections
import math

import numpy

from . import _dtypes, _network, _ops, _tandem
from ._on_host import computed

SampledCandidates = collections.namedtuple("SampledCandidates", "sampled_candidates true_expected_count sampled_expected_count")


def _sample(true_classes, num_sampled, unique, draw, probability, seed, who, range_max):
    """Classes drawn by `draw(numbers, count)`; how often each is to be expected follows from its probability."""
    from . import random

    if unique and num_sampled > range_max:
        raise ValueError(f"{who}: {num_sampled} different classes were asked for, but there are {range_max}; use unique=False or fewer")
    true = _ops.cast(_tandem.to_tensor(true_classes), _dtypes.int64)

    def run(words, true):
        numbers, tries = numpy.random.default_rng(words.tolist()), num_sampled
        sampled = draw(numbers, num_sampled)
        if unique:
            found = dict.fromkeys(sampled.tolist())
            while len(found) < num_sampled:
                tries += num_sampled
                found.update(dict.fromkeys(draw(numbers, num_sampled).tolist()))
            sampled = numpy.array(list(found)[:num_sampled])

        def expected(classes):
            p = probability(classes)
            return -numpy.expm1(tries * numpy.log1p(-p)) if unique else p * num_sampled

        return sampled, expected(true), expected(sampled)

    words = random.uniform([2], 0, 2**31 - 1, _dtypes.int32, seed=seed)
    results = ([num_sampled], "int64"), (true.shape, "float32"), ([num_sampled], "float32")
    return SampledCandidates(*computed(run, [words, true], *results))


def log_uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Classes drawn as words sorted by frequency are found in a text: class k with the probability log((k + 2) / (k + 1)) / log(range_max + 1)."""
    span = math.log(range_max + 1)
    draw = lambda numbers, count: numpy.minimum(numpy.exp(numbers.random(count) * span).astype("int64") - 1, range_max - 1)  # noqa: E731
    return _sample(true_classes, num_sampled, unique, draw, lambda k: numpy.log((k + 2.0) / (k + 1.0)) / span, seed, "log_uniform_candidate_sampler", range_max)


def uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Classes drawn with equal probabilities."""
    draw = lambda numbers, count: numbers.integers(0, range_max, count)  # noqa: E731
    return _sample(true_classes, num_sampled, unique, draw, lambda k: numpy.full(numpy.shape(k), 1.0 / range_max), seed, "uniform_candidate_sampler", range_max)


def fixed_unigram_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, vocab_file="", distortion=1.0,
                                    num_reserved_ids=0, num_shards=1, shard=0, unigrams=(), seed=None, name=None):  # fmt: skip
    """Classes drawn with given weights, to the power of `distortion`."""
    if vocab_file:
        with open(vocab_file) as file:
            unigrams = [float(line.split(",")[-1]) for line in file if line.strip()]
    weights = numpy.array([0.0] * num_reserved_ids + [float(w) ** distortion for w in unigrams])
    if len(weights) != range_max:
        raise ValueError(f"fixed_unigram_candidate_sampler: {len(weights)} weights for range_max={range_max} classes")
    weights /= weights.sum()
    draw = lambda numbers, count: numbers.choice(range_max, count, p=weights)  # noqa: E731
    return _sample(true_classes, num_sampled, unique, draw, lambda k: weights[k], seed, "fixed_unigram_candidate_sampler", range_max)


def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
    """All classes: for tests."""
    true = _tandem.to_tensor(true_classes, _dtypes.int64)
    classes = _ops.range(num_sampled, dtype=_dtypes.int64)
    return SampledCandidates(classes, _ops.ones(true.shape), _ops.ones([num_sampled]))


def compute_accidental_hits(true_classes, sampled_candidates, num_true, seed=None, name=None):
    """(row, place, weight) of the sampled classes that are true ones of a row; the weight is -float32's largest."""
    true, sampled = _tandem.to_tensor(true_classes).numpy(), _tandem.to_tensor(sampled_candidates).numpy()
    rows, _, places = numpy.nonzero(true[:, :, None] == sampled[None, None, :])
    weights = numpy.full(len(rows), -numpy.finfo(numpy.float32).max, numpy.float32)
    return _tandem.to_tensor(rows.astype("int32")), _tandem.to_tensor(places.astype("int64")), _tandem.to_tensor(weights)


def _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, subtract_log_q, remove_hits, seed):
    """Logits and labels of the true classes and the sampled ones, [batch, num_true + num_sampled]."""
    if isinstance(weights, (list, tuple)):
        weights = _ops.concat(list(weights), 0)
    labels = _ops.reshape(_ops.cast(_tandem.to_tensor(labels), _dtypes.int64), [-1, num_true])
    inputs, biases = _tandem.to_tensor(inputs), _tandem.to_tensor(biases)
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed)
    sampled, true_expected, sampled_expected = (_tandem.to_tensor(value) for value in sampled_values)
    sampled = _ops.stop_gradient(_ops.cast(sampled, _dtypes.int64))
    true = _ops.reduce_sum(_ops.expand_dims(inputs, 1) * _ops.gather(weights, labels), -1) + _ops.gather(biases, labels)
    drawn = _ops.matmul(inputs, _ops.gather(weights, sampled), transpose_b=True) + _ops.gather(biases, sampled)
    if remove_hits:
        hits = _ops.reduce_any(_ops.equal(_ops.expand_dims(labels, 2), _ops.reshape(sampled, [1, 1, -1])), 1)
        drawn = _ops.where(hits, _ops.fill(drawn.shape, _tandem.to_tensor(numpy.finfo("float32").min, drawn.dtype)), drawn)
    if subtract_log_q:
        true, drawn = true - _ops.log(true_expected), drawn - _ops.log(sampled_expected)
    wanted = _ops.concat([_ops.ones(true.shape, true.dtype) / float(num_true), _ops.zeros(drawn.shape, true.dtype)], 1)
    return _ops.concat([true, drawn], 1), wanted


def nce_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None, remove_accidental_hits=False, name="nce_loss"):
    """Noise-contrastive estimation: for each row, whether the true classes are told from `num_sampled` drawn ones."""
    logits, wanted = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True, remove_accidental_hits, None)
    return _ops.reduce_sum(_network.sigmoid_cross_entropy_with_logits(wanted, logits), 1)


def sampled_softmax_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None, remove_accidental_hits=True, seed=None,
                         name="sampled_softmax_loss"):  # fmt: skip
    """The cross entropy of a softmax over the true classes and `num_sampled` drawn ones."""
    logits, wanted = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True, remove_accidental_hits, seed)
    return _ops.softmax_cross_entropy_with_logits(_ops.stop_gradient(wanted), logits)
