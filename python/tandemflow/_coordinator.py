"""tf.train.Coordinator: threads that stop together, and the first of their exceptions."""
import contextlib
import sys
import threading
import time


class Coordinator:
    """Threads ask should_stop(); request_stop() makes all of them stop, join() waits and raises what one of them raised."""

    def __init__(self, clean_stop_exception_types=None):
        from .errors import OutOfRangeError

        self._clean = tuple(clean_stop_exception_types or (OutOfRangeError,))
        self._stop, self._lock, self._error, self._threads = threading.Event(), threading.Lock(), None, []

    def should_stop(self):
        return self._stop.is_set()

    def request_stop(self, ex=None):
        """Stops all; an exception is kept for join(), unless it is one that ends work as it should."""
        with self._lock:
            error = ex[1] if isinstance(ex, tuple) else ex
            if error is not None and self._error is None and not self._stop.is_set() and not isinstance(error, self._clean):
                self._error = error
            self._stop.set()

    def clear_stop(self):
        with self._lock:
            self._error = None
            self._stop.clear()

    def wait_for_stop(self, timeout=None):
        return self._stop.wait(timeout)

    def register_thread(self, thread):
        self._threads.append(thread)

    @contextlib.contextmanager
    def stop_on_exception(self):
        """with coordinator.stop_on_exception(): an exception stops all threads."""
        try:
            yield
        except Exception:
            self.request_stop(ex=sys.exc_info())

    def join(self, threads=None, stop_grace_period_secs=120, ignore_live_threads=False):
        """Waits for the threads; RuntimeError when one runs on after all were asked to stop."""
        threads = [*self._threads, *(threads or ())]
        while any(thread.is_alive() for thread in threads) and not self.wait_for_stop(0.05):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        self._threads = []
        if self._error is not None:
            raise self._error
        alive = [thread.name for thread in threads if thread.is_alive()]
        if alive and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(alive)}")

    @property
    def joined(self):
        return not self._threads

    def raise_requested_exception(self):
        if self._error is not None:
            raise self._error


class LooperThread(threading.Thread):
    """Calls a function again and again until its coordinator stops, every `timer_interval_secs` if that is given."""

    def __init__(self, coord, timer_interval_secs, target=None, args=None, kwargs=None):
        super().__init__(daemon=True)
        self._coord, self._pause, self._work = coord, timer_interval_secs, (target, args or (), kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(coord, timer_interval_secs, target, args=None, kwargs=None):
        thread = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    def run_loop(self):
        target, args, kwargs = self._work
        if target is not None:
            target(*args, **kwargs)

    def run(self):
        with self._coord.stop_on_exception():
            while not self._coord.should_stop():
                self.run_loop()
                if self._pause is not None and self._coord.wait_for_stop(self._pause):
                    break
