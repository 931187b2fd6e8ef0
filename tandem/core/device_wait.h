// How long threads have waited for devices: who divides work between the host and a device balances it by that.
#pragma once

namespace tandem {

/// Seconds that this thread has spent waiting for what devices copy to the host, since it began.
double seconds_waited();

}  // namespace tandem
