#include "tandem/autodiff/opening.h"

#include <algorithm>

#include "tandem/core/large_shapes.h"

namespace tandem {

OpenAxes open_axes(const std::vector<InputSpec>& signature) {
  OpenAxes axes;
  for (const InputSpec& spec : signature) {
    axes.push_back(0);
    for (std::size_t axis = 0; axis < spec.shape.size(); ++axis)
      if (spec.shape[axis] == InputSpec::kAny) axes.back() |= 1u << axis;
  }
  return axes;
}

Opening::Opening(const Specs& call, const OpenAxes& axes) {
  const LargeShapes allowed;
  for (std::size_t i = 0; i < call.size(); ++i) {
    const Shape& shape = call[i].shape();
    std::vector<std::int64_t> opened(shape.begin(), shape.end());
    for (std::size_t axis = 0; axis < opened.size(); ++axis) {
      if (i >= axes.size() || !(axes[i] >> axis & 1)) continue;
      const auto which = static_cast<std::size_t>(std::ranges::find(sizes, opened[axis]) - sizes.begin());
      if (opened[axis] == 0 || which == kMostOpenSizes) {
        sizes.clear();
        return;
      }
      if (which == sizes.size()) sizes.push_back(opened[axis]);
      opened[axis] = open_size(which);
    }
    specs.emplace_back(call[i].dtype(), Shape(std::span<const std::int64_t>(opened)));
  }
}

}  // namespace tandem
