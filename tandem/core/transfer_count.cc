#include "tandem/core/transfer_count.h"

namespace tandem {
namespace {

struct Counter {
  std::atomic<std::uint64_t> bytes{0}, count{0}, nanoseconds{0};
  TransferStats::Direction read() const {
    return {bytes.load(), count.load(), static_cast<double>(nanoseconds.load()) * 1e-9};
  }
};
Counter to_device, to_host;
thread_local int uncounted = 0;

Counter& counter(Transfer direction) { return direction == Transfer::to_device ? to_device : to_host; }

}  // namespace

void count_transfer(Transfer direction, std::size_t bytes) {
  if (uncounted > 0) return;
  counter(direction).bytes += bytes;
  ++counter(direction).count;
}

void add_transfer_time(Transfer direction, std::uint64_t nanoseconds) { counter(direction).nanoseconds += nanoseconds; }

UncountedTransfers::UncountedTransfers() { ++uncounted; }
UncountedTransfers::~UncountedTransfers() { --uncounted; }
bool UncountedTransfers::now() { return uncounted > 0; }

TransferStats transfer_stats() { return {to_device.read(), to_host.read()}; }

}  // namespace tandem
