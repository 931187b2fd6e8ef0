"""A worker as the driver sees it: a process that answers a line of JSON with a line of JSON."""
import json
import os
import select
import subprocess


class WorkerFailed(Exception):
    """The process ended, answered nonsense or took too long; the text says which, for the reader of the table."""


class Session:
    def __init__(self, command, log, environment=None, cores=None):
        """`cores`: the process may use these only, whatever threads its library makes."""
        self.log = log
        pin = (lambda: os.sched_setaffinity(0, cores)) if cores else None
        with open(log, "w") as errors:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                env={**os.environ, **(environment or {})}, preexec_fn=pin,
            )

    def ask(self, do, timeout=600, **request):
        try:
            self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise WorkerFailed(self.last_words()) from None
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            self.close()
            raise WorkerFailed(f"no answer within {timeout:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            raise WorkerFailed(self.last_words())
        try:
            return json.loads(line)
        except ValueError:
            raise WorkerFailed(f"answered {line.strip()[:80]!r}, which is not JSON") from None

    def last_words(self):
        """The last line that the process wrote before it ended."""
        code = self.process.wait(timeout=10)
        with open(self.log) as log:
            lines = [line.strip() for line in log if line.strip()]
        return f"ended with code {code}: {lines[-1][:200] if lines else 'nothing was said'}"

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
