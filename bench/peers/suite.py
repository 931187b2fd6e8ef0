"""The run: workers started, outputs compared, then rounds in which every library is timed in turn."""
import shutil
from pathlib import Path

from . import agreement, arrays
from .figures import summary
from .libraries import LIBRARIES
from .session import WorkerFailed
from .workload import rng_for


class Suite:
    """`sessions`: {column: Session}; `problems`: {column: why it has none}."""

    def __init__(self, sessions, problems, scratch, say=print):
        self.sessions, self.problems, self.scratch, self.say = dict(sessions), dict(problems), Path(scratch), say
        self.versions = {}

    def ask(self, column, *request, **more):
        """An answer; a worker that fails loses its column for the rest of the run."""
        session = self.sessions.get(column)
        if session is None:
            return {"error": self.problems[column]}
        try:
            return session.ask(*request, **more)
        except WorkerFailed as failure:
            self.sessions.pop(column)
            session.close()
            self.problems[column] = str(failure)
            return {"error": str(failure)}

    def greet(self):
        for column in list(self.sessions):
            answer = self.ask(column, "hello")
            if "version" in answer:
                self.versions[column] = answer["version"]

    def columns(self):
        return [*self.sessions, *(name for name in self.problems if name not in self.sessions)]

    def prepare(self, workload):
        """{column: {"why"}} of those that cannot be timed, {} for the others: made, run once, compared."""
        folder = self.scratch / workload.name
        inputs = arrays.save(workload.inputs(rng_for(workload.name)), folder / "inputs")
        columns, outputs = {}, {}
        for column in self.columns():
            answer = self.ask(column, "prepare", name=workload.name, inputs=inputs, folder=str(folder / column))
            columns[column] = {}
            if answer.get("missing"):
                columns[column] = {"why": "not written for this library", "unsaid": True}
            elif "error" in answer:
                columns[column] = {"why": answer["error"]}
            else:
                outputs[column] = list(arrays.load(answer["outputs"]).values())
        for column, why in agreement.wrong(outputs, workload.tolerance).items():
            columns[column] = {"why": why}
        shutil.rmtree(folder)
        return columns

    def time_round(self, workload, columns, seconds, times):
        for column, state in columns.items():
            if state:
                continue
            answer = self.ask(column, "time", name=workload.name, seconds=seconds, warm_up=not workload.long)
            if "error" in answer:
                state["why"] = answer["error"]
            else:
                times.setdefault((workload.name, column), []).append(answer["times"])

    def run(self, workloads, rounds, seconds, before_round=lambda: None):
        """{workload: {"columns": {column: summary or {"why"}}, …}}."""
        self.greet()
        states, times = {}, {}
        for workload in workloads:
            self.say(f"bench: checking {workload.name}", flush=True)
            states[workload.name] = self.prepare(workload)
        for number in range(rounds):
            self.say(f"bench: round {number + 1} of {rounds}", flush=True)
            before_round()
            for workload in workloads:
                self.time_round(workload, states[workload.name], 0 if workload.long else seconds, times)
        return {workload.name: self.row(workload, states[workload.name], times) for workload in workloads}

    def row(self, workload, columns, times):
        found = {
            column: state or summary(times[workload.name, column])
            for column, state in columns.items()
        }
        return {"doc": workload.doc, "flops": workload.flops, "bytes": workload.bytes, "goals": workload.goals, "columns": found}

    def close(self):
        for session in self.sessions.values():
            session.close()


def missing_packages(columns):
    """The pip packages of these columns."""
    return [LIBRARIES[name].package for name in columns if name in LIBRARIES and LIBRARIES[name].package]
