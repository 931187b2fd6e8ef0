"""Input pipelines and readers of files beside TensorFlow's answers: tests/data/pipelines.json."""
import json
from pathlib import Path

import data_cases
import data_differences
import data_helpers
import file_cases
import pytest

import tandemflow as tf

ANSWERS = json.loads((Path(__file__).parent.parent / "data/pipelines.json").read_text())
EXPRESSIONS = [line for cases in (data_cases, file_cases) for text in cases.FAMILIES.values() for line in data_helpers.lines(text)]
DIFFERENT = [line for text in data_differences.DIFFERENCES.values() for line in data_helpers.lines(text)]
WITH_PANDAS = "frame()"  # the tests do not need it, and run these where it is


def failure_of(answer):
    return (answer.get("failed") or answer.get("raised")) if isinstance(answer, dict) else None


def check(got, wanted):
    """The same values, specs and numbers of elements; where TensorFlow fails, its class of error, after the same elements."""
    error = failure_of(wanted)
    if not error:
        assert got == wanted
        return
    assert failure_of(got) and error["classes"][0] in failure_of(got)["classes"], got
    assert got.get("elements", []) == wanted.get("elements", [])


@pytest.mark.parametrize("expression", [line for line in EXPRESSIONS if line not in DIFFERENT])
def test_pipelines_answer_as_tensorflow_does(expression, tmp_path):
    if WITH_PANDAS in expression:
        pytest.importorskip("pandas")
    check(data_helpers.answer(expression, data_helpers.names(tf, tmp_path)), ANSWERS[expression])


@pytest.mark.parametrize("expression", DIFFERENT)
def test_known_differences_are_still_there(expression, tmp_path):
    if WITH_PANDAS in expression:
        pytest.importorskip("pandas")
    with pytest.raises(AssertionError):
        check(data_helpers.answer(expression, data_helpers.names(tf, tmp_path)), ANSWERS[expression])
