// Nodes over elements that other stages have in hand.
#pragma once
#include <vector>

#include "tandem/data/node.h"

namespace tandem::data {

/// These elements, in order.
NodeRef make_listed(ElementSpec spec, std::vector<Element> elements);

}  // namespace tandem::data
