"""Times a function as the C++ harness does: batches long enough for the clock, until the time is over."""
import time

BATCH = 0.005  # seconds that a batch should take at least


def batches(body, seconds, warm_up=True):
    """Seconds of one call, a value a batch."""
    if warm_up:
        body()
    times, calls, end = [], 1, time.perf_counter() + seconds
    while True:
        begin = time.perf_counter()
        for _ in range(calls):
            body()
        spent = time.perf_counter() - begin
        if spent >= BATCH or calls > 1:
            times.append(spent / calls)
        if times and time.perf_counter() > end:
            return times
        calls = max(1, min(int(BATCH / max(spent / calls, 1e-9)) + 1, 1_000_000)) if spent < BATCH else calls
