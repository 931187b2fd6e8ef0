// The workloads of workloads/*.py in C++, by the same names.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "tandem/tandem.h"

namespace tandem::bench {

/// The inputs by name, as workloads/*.py makes them.
using Inputs = std::map<std::string, Tensor>;
/// What is timed; its result is compared with the peers'.
using Body = std::function<Tensors()>;
using Workload = std::function<Body(const Inputs&)>;

const std::map<std::string, Workload>& peer_workloads();

}  // namespace tandem::bench
