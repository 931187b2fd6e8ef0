#include "tandem/graph/fingerprint.h"

#include <iomanip>
#include <sstream>

#include "tandem/base/hash.h"

namespace tandem {
namespace {

std::uint64_t mix_text(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return mix(hash, text.size());
}

std::uint64_t mix_spec(std::uint64_t hash, const TensorSpec& spec) {
  hash = mix_text(hash, dtype_name(spec.dtype()));
  for (const std::int64_t size : spec.shape()) hash = mix(hash, static_cast<std::uint64_t>(size));
  return mix(hash, static_cast<std::uint64_t>(spec.shape().rank()));
}

}  // namespace

std::string fingerprint(const Graph& graph) {
  std::uint64_t hash = graph.nodes.size();
  for (const Node& node : graph.nodes) {
    hash = mix_text(hash, node.op->name);
    for (GraphValue input : node.inputs)
      hash = mix(mix(hash, static_cast<std::uint64_t>(input.node)), static_cast<std::uint64_t>(input.output));
    for (const std::int64_t word : node.attrs.key()) hash = mix(hash, static_cast<std::uint64_t>(word));
    for (const TensorSpec& spec : node.outputs) hash = mix_spec(hash, spec);
  }
  for (GraphValue result : graph.results)
    hash = mix(mix(hash, static_cast<std::uint64_t>(result.node)), static_cast<std::uint64_t>(result.output));
  std::ostringstream out;
  out << std::hex << std::setw(16) << std::setfill('0') << hash;
  return out.str();
}

}  // namespace tandem
