"""Checkpoints that real TensorFlow writes for the tests, and a check that it reads ours.

Run with a Python that has TensorFlow:
  python tools/checkpoints.py write           tests/data/checkpoints/*
  python tools/checkpoints.py check FOLDER    restores what tests/python/checkpoint_scenes.py, run with ours, wrote there
"""
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))
import checkpoint_scenes as scenes  # noqa: E402
import tensorflow as tf  # noqa: E402

if sys.argv[1] == "write":
    for scene in scenes.SCENES:
        checkpoint, made = scene(tf)
        scenes.fill(tf, checkpoint, made)
        checkpoint.write(str(ROOT / "tests" / "data" / "checkpoints" / scene.__name__))
else:
    for scene in scenes.SCENES:
        checkpoint, made = scene(tf)
        checkpoint.read(os.path.join(sys.argv[2], scene.__name__)).assert_consumed()
        scenes.check(tf, checkpoint, made)
        print(scene.__name__, "is restored whole")
