// Elements made ahead of their reader, on a thread of their own.
#pragma once
#include <cstdint>
#include <string>

#include "tandem/data/node.h"
#include "tandem/data/session.h"

namespace tandem::data {

/// Up to `size` elements of `input` (kAutotune: as many as help) are made while the reader works. `device`: where
/// copies of them are started early; empty: nowhere.
IteratorPtr prefetched(IteratorPtr input, std::int64_t size, const Pass& pass, Stage& stage,
                       const std::string& device = "");

}  // namespace tandem::data
