// Links that are slower than they are: a delay added to real copies, to study transfers where memory is shared.
#pragma once
#include <string>
#include <string_view>

#include "tandem/core/device.h"

namespace tandem {

/// "/CPU:0>/GPU:0:latency_us=10,gb_per_s=2": a copy takes at least so long, and copies in one direction follow one
/// another. Further links are separated by a comma or semicolon; one direction stands for both unless the other is
/// given too. Empty: no delays. Read from TANDEM_LINK at the first copy. Throws invalid_argument.
void set_links(std::string_view links);

/// What was set, "" for none.
std::string links();

/// A copy starts now.
void cross_link(const MemorySpace& from, const MemorySpace& to, std::size_t bytes);
/// Returns when the copies that this thread started would have arrived.
void await_links();

}  // namespace tandem
