"""Writes tests/data/pipelines.json: what TensorFlow answers to the pipelines of tests/python/data_cases.py and file_cases.py.

Needs the pip packages tensorflow-cpu and pandas, which the tests do not: python tools/pipeline_answers.py
"""
import json
import sys
import tempfile
from pathlib import Path

import tensorflow as tf

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))

import data_cases  # noqa: E402
import data_helpers  # noqa: E402
import file_cases  # noqa: E402


def main():
    answers = {}
    for text in (*data_cases.FAMILIES.values(), *file_cases.FAMILIES.values()):
        for expression in data_helpers.lines(text):
            with tempfile.TemporaryDirectory() as folder:
                answers[expression] = data_helpers.answer(expression, data_helpers.names(tf, folder))
    entries = ",\n".join(f"{json.dumps(expression)}: {json.dumps(answer)}" for expression, answer in answers.items())
    (ROOT / "tests/data/pipelines.json").write_text("{\n" + entries + "\n}\n")
    print(f"pipelines.json: {len(answers)} answers")


if __name__ == "__main__":
    main()
