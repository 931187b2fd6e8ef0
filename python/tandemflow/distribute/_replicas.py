"""The replicas of one run: each on a thread of its own, one at a time, until it comes to a meeting or to its end."""
import threading

from .. import _replica, _tandem


class Stopped(BaseException):
    """Ends a replica when another one has failed."""


class Meeting:
    """What a replica brings to the others: `merge(brought)` gets one value of each and gives one result to each."""

    def __init__(self, what, value, merge):
        self.what, self.value, self.merge = what, value, merge


class _Replica:
    def __init__(self, body, back, states):
        self._body, self._back, self._states = body, back, states
        self._go = threading.Semaphore(0)
        self.met = self.answer = self.result = self.error = None
        self.stopped = self.ended = False
        self._thread = None

    def advance(self):
        """Runs until the next meeting or the end."""
        self.met = None
        if self._thread is None:
            self._context = _tandem.ThreadContext()
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        else:
            self._go.release()
        self._back.acquire()

    def stop(self):
        """Ends it where it waits."""
        if self._thread is None:
            return
        self.stopped = True
        self._go.release()
        try:
            self._thread.join()
        except RuntimeError:
            pass  # Ctrl-C came while it was being started: it will see that there is nothing to do

    def meet(self, meeting):
        """Called on the replica's thread: waits until all have come; returns what is meant for this one."""
        if threading.current_thread() is not self._thread:
            raise RuntimeError(f"{meeting.what}: the replicas have ended; a gradient through it is taken inside the replica")
        self.met = meeting
        self._back.release()
        self._go.acquire()
        if self.stopped:
            raise Stopped
        return self.answer

    def _run(self):
        try:
            if self.stopped:
                raise Stopped
            with self._context:
                _replica.install(self._states)
                self.result = self._body(self)
        except BaseException as error:  # it is raised again on the calling thread
            self.error = error
        self.ended = True
        self._back.release()


def run_together(bodies):
    """The results of body(replica) for all; they meet where their programs say so."""
    with _replica.building:  # a replica that waits for the others must not keep them from building
        back, states = threading.Semaphore(0), _replica.snapshot()
        replicas = [_Replica(body, back, states) for body in bodies]
        try:
            while not replicas[0].ended:
                for replica in replicas:
                    replica.advance()
                    if replica.error is not None:
                        raise replica.error
                _merge(replicas)
        finally:
            for replica in replicas:
                replica.stop()
        return [replica.result for replica in replicas]


def _merge(replicas):
    meetings = [replica.met for replica in replicas]
    if all(meeting is None for meeting in meetings):
        return
    names = ["the end" if meeting is None else meeting.what for meeting in meetings]
    if len(set(names)) > 1:
        raise RuntimeError(
            f"Some replicas made a different number of replica_context().merge_call() calls. One is at {names[0]}, another at "
            f"{next(name for name in names if name != names[0])}. A call such as all_reduce cannot depend on the replica."
        )
    answers = meetings[0].merge([meeting.value for meeting in meetings])
    for replica, answer in zip(replicas, answers):
        replica.answer = answer
