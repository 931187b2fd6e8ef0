"""tf.profiler.experimental: a timeline of the ops between start and stop, written for trace viewers.

The runtime notes every op it runs, always; of each thread the newest 4096 are kept. So a profile is what happened last
before stop, and starting one costs nothing.
"""
import gzip
import json
import os
import socket
import time
from collections import namedtuple

from .. import _tandem
from ..errors import AlreadyExistsError, UnavailableError

ProfilerOptions = namedtuple("ProfilerOptions", ["host_tracer_level", "python_tracer_level", "device_tracer_level", "delay_ms"], defaults=(2, 0, 1, None))
Span = namedtuple("Span", ["op", "signature", "device", "kernel", "start_us", "us", "thread"])

_running = None


class _Session:
    def __init__(self, logdir):
        self.logdir, self.begin, self.marks = os.fspath(logdir), _tandem.ticks(), []


def start(logdir, options=None):
    """Begins a profile; stop() writes it below `logdir`."""
    global _running
    if _running is not None:
        raise AlreadyExistsError("Another profiler is running.")
    _running = _Session(logdir)


def spans(since=0):
    """The ops that ran from that tick of the clock on, by start: those the threads still remember, newest 4096 each."""
    us = _tandem.nanoseconds_per_tick() / 1e3
    return [Span(op, signature, device, kernel, (start - since) * us, (end - start) * us, thread)
            for op, signature, device, kernel, start, end, thread in _tandem.spans(since)]  # fmt: skip


def stop(save=True):
    """Ends the profile and, with `save`, writes logdir/plugins/profile/TIME/HOST.trace.json.gz; returns its path."""
    global _running
    if _running is None:
        raise UnavailableError("Cannot export profiling results. No profiler is running.")
    session, _running = _running, None
    if not save:
        return None
    folder = os.path.join(session.logdir, "plugins", "profile", time.strftime("%Y_%m_%d_%H_%M_%S"))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{socket.gethostname()}.trace.json.gz")
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump({"traceEvents": _events(spans(session.begin), session), "displayTimeUnit": "ns"}, file)
    return path


def _events(spans, session):
    """The format of Chrome's trace viewer, which TensorBoard and Perfetto read: a process a device, a row a thread."""
    devices = sorted({span.device for span in spans})
    events = [{"ph": "M", "name": "process_name", "pid": i + 1, "args": {"name": device}} for i, device in enumerate(devices)]
    events += [
        {"ph": "X", "name": span.op, "pid": devices.index(span.device) + 1, "tid": span.thread, "ts": span.start_us, "dur": span.us,
         "args": {"signature": span.signature, "kernel": span.kernel}}
        for span in spans
    ]  # fmt: skip
    if session.marks:
        us = _tandem.nanoseconds_per_tick() / 1e3
        events.append({"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "Trace"}})
        events += [
            {"ph": "X", "name": name, "pid": 0, "tid": 0, "ts": (begin - session.begin) * us, "dur": (end - begin) * us, "args": more}
            for name, begin, end, more in session.marks
        ]
    return events


class Profile:
    """with Profile(logdir): a profile of what runs inside."""

    def __init__(self, logdir, options=None):
        self._logdir, self._options = logdir, options

    def __enter__(self):
        start(self._logdir, self._options)

    def __exit__(self, *exception):
        stop()


class Trace:
    """with Trace(name, step_num=…): a mark in the timeline around what runs inside."""

    def __init__(self, name, **kwargs):
        self._name, self._more = name, kwargs

    def set_metadata(self, **kwargs):
        """More to show with the mark."""
        self._more.update(kwargs)

    def __enter__(self):
        self._begin = _tandem.ticks()
        return self

    def __exit__(self, *exception):
        if _running is not None:
            more = {key: str(value) for key, value in self._more.items()}
            _running.marks.append((self._name, self._begin, _tandem.ticks(), more))


class Summary:
    """Where the time went: an entry an op and device, the dearest first."""

    def __init__(self, spans):
        totals = {}
        for span in spans:
            calls, us = totals.get((span.op, span.device, span.kernel), (0, 0.0))
            totals[span.op, span.device, span.kernel] = calls + 1, us + span.us
        self.ops = [
            {"op": op, "device": device, "kernel": kernel, "calls": calls, "us": us}
            for (op, device, kernel), (calls, us) in sorted(totals.items(), key=lambda item: -item[1][1])
        ]
        self.us = sum(entry["us"] for entry in self.ops)

    def __str__(self):
        lines = [f"{'op':40} {'device':8} {'kernel':12} {'calls':>7} {'us/call':>9} {'share':>6}"]
        for entry in self.ops:
            each, share = entry["us"] / entry["calls"], 100 * entry["us"] / (self.us or 1)
            lines.append(f"{entry['op'][:40]:40} {entry['device']:8} {entry['kernel'][:12]:12} {entry['calls']:7} {each:9.2f} {share:5.1f}%")
        return "\n".join(lines)

    __repr__ = __str__


def summary(since=0):
    """Adds up the ops that ran, of the newest 4096 of each thread."""
    return Summary(spans(since))
