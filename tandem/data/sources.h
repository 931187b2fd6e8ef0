// Nodes over elements or datasets that others have in hand.
#pragma once
#include <vector>

#include "tandem/data/node.h"

namespace tandem::data {

/// These elements, in order.
NodeRef make_listed(ElementSpec spec, std::vector<Element> elements);

/// The elements of `input`, which are all of `spec`: for makers who know more of them than their function shows.
NodeRef make_promised(NodeRef input, ElementSpec spec);

/// Dataset::sample_from_datasets; with a seed every pass has the same order, unless told otherwise.
NodeRef make_sampled(const std::vector<Dataset>& datasets, std::vector<double> weights, std::int64_t seed,
                     bool stop_on_empty_dataset, bool rerandomize_each_iteration);

}  // namespace tandem::data
