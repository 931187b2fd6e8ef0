"""How much of TensorFlow is there, by use."""
import json
import os
import sys
import types

import pytest
from peers import coverage, names
from peers.name_examples import EXAMPLES

THERE, VALUE = {"resolves": True}, {"resolves": True, "value": [[1.0]]}


def test_shares_are_weighted_by_use():
    entries = [("tf.a", 70), ("tf.b", 20), ("tf.c", 10)]
    found = coverage.weigh(entries, {"tf.a": VALUE, "tf.b": THERE, "tf.c": {"resolves": False, "error": "no"}}, {"tf.a": VALUE})
    assert (found["resolve"], found["work"]) == (pytest.approx(0.9), pytest.approx(0.7))
    assert (found["names_resolve"], found["names_work"]) == (2, 1)
    assert found["missing"] == [["tf.b", 20, "no example"], ["tf.c", 10, "is not there"]]


def test_another_value_than_tensorflows_does_not_work():
    assert coverage.verdict(VALUE, VALUE) is None
    assert "gives [[1.0]], TensorFlow [[2.0]]" in coverage.verdict(VALUE, {"resolves": True, "value": [[2.0]]})
    assert "nothing to compare with" in coverage.verdict(VALUE, None)
    assert coverage.verdict({"resolves": True, "error": "E"}, VALUE) == "E"


def test_rounding_is_the_same_other_words_shapes_and_nan_are_not():
    assert coverage.same([[1.0, float("nan")], "a"], [[1.0001, float("nan")], "a"])
    assert not coverage.same([1.0], [1.0, 1.0])
    assert not coverage.same(["a"], ["b"])
    assert not coverage.same([float("nan")], [1.0])


def test_a_name_is_resolved_attribute_by_attribute():
    module = types.SimpleNamespace(math=types.SimpleNamespace(abs=abs))
    assert names.resolve(module, "tf.math.abs") is abs
    assert names.try_out(module, "tf.math.none", {})["resolves"] is False


def test_an_example_that_fails_says_how():
    module = types.SimpleNamespace(zeros=None)
    answer = names.try_out(module, "tf.zeros", {"tf": module})
    assert answer["resolves"] and answer["error"].startswith("TypeError")


def test_an_example_that_ends_the_process_costs_its_own_name_only(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import os, sys\nfor name in sys.stdin.read().split():\n    if name == 'b': os._exit(3)\n    print('{\"resolves\": true}', flush=True)\n")
    answers = coverage.try_names([sys.executable, program], ["a", "b", "c"], dict(os.environ))
    assert answers["a"] == answers["c"] == THERE
    assert answers["b"]["error"] == "ended the process (code 3)"


def test_a_library_that_cannot_be_imported_is_an_error_with_its_last_words():
    with pytest.raises(RuntimeError, match="No module named 'nowhere'"):
        coverage.try_names([sys.executable, "-c", "import nowhere"], ["tf.a"], dict(os.environ))


def test_every_example_is_of_a_listed_name_and_most_names_by_use_have_one():
    entries = dict(coverage.symbols())
    assert [name for name in EXAMPLES if name not in entries] == []
    assert sum(entries[name] for name in EXAMPLES) > 0.9 * sum(entries.values())
    assert "source" in json.loads(coverage.NAMES.read_text())
