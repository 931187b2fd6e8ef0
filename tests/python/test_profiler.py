"""tf.profiler.experimental: a timeline that trace viewers read."""
import gzip
import json

import pytest

import tandemflow as tf

profiler = tf.profiler.experimental


def test_a_profile_holds_the_ops_between_start_and_stop(tmp_path):
    tf.exp(tf.ones(10))
    profiler.start(str(tmp_path))
    with profiler.Trace("step", step_num=3):
        x = tf.random.normal((200, 200))
        for _ in range(5):
            x = tf.matmul(x, x) * 1e-3
        x.numpy()
    path = profiler.stop()
    assert path.startswith(str(tmp_path / "plugins" / "profile")) and path.endswith(".trace.json.gz")
    events = json.load(gzip.open(path))["traceEvents"]
    ops = [event for event in events if event["ph"] == "X" and event["pid"] > 0]
    assert sum(event["name"] == "matmul" for event in ops) == 5 and not any(event["name"] == "exp" for event in ops)
    (mark,) = [event for event in events if event["name"] == "step"]
    assert mark["args"] == {"step_num": "3"}
    for event in ops:
        assert mark["ts"] <= event["ts"] and event["ts"] + event["dur"] <= mark["ts"] + mark["dur"] + 1
    assert {"/CPU:0"} <= {event["args"]["name"] for event in events if event["name"] == "process_name"}


def test_profiles_do_not_nest_and_end_once(tmp_path):
    with profiler.Profile(str(tmp_path)):
        with pytest.raises(tf.errors.AlreadyExistsError):
            profiler.start(str(tmp_path))
    with pytest.raises(tf.errors.UnavailableError):
        profiler.stop()
    profiler.start(str(tmp_path))
    assert profiler.stop(save=False) is None


def test_a_summary_puts_the_dearest_op_first():
    since = tf._tandem.ticks()
    a = tf.random.normal((400, 400))
    for _ in range(3):
        tf.matmul(a, a)
    tf.ones(3) + 1.0
    summary = profiler.summary(since)
    (product,) = [entry for entry in summary.ops if entry["op"] == "matmul"]
    assert product["calls"] == 3 and product["us"] > 0 and summary.us >= product["us"]
    assert [entry["us"] for entry in summary.ops] == sorted((entry["us"] for entry in summary.ops), reverse=True)
    assert "matmul" in str(summary)
