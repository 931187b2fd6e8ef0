#include "tandem/autodiff/open_sizes.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostAxes = 3;
constexpr const char* kKey = "open";    // {"open": [3, 2]}: 3 + 2 × size
constexpr const char* kReal = "real";   // beside it: the attribute is a real number

/// Small enough to be traced fast, large enough for the windows of convolutions; primes for batches, so that nothing
/// agrees by accident.
struct Sizes {
  std::int64_t low, high, test;
};
Sizes sizes_for(int axis) { return axis == 0 ? Sizes{3, 5, 7} : Sizes{32, 48, 64}; }

/// The polynomial through the samples, product by product: coefficient i belongs to the sizes whose bits i has.
std::vector<std::int64_t> coefficients(std::vector<std::int64_t> values, const std::vector<int>& axes, bool& whole) {
  for (std::size_t bit = 0; bit < axes.size(); ++bit) {
    const Sizes sizes = sizes_for(axes[bit]);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i >> bit & 1) continue;
      std::int64_t &low = values[i], &high = values[i | std::size_t{1} << bit];
      whole = whole && (high - low) % (sizes.high - sizes.low) == 0;
      high = (high - low) / (sizes.high - sizes.low);
      low -= high * sizes.low;
    }
  }
  return values;
}

/// Nothing when it overflows.
std::optional<std::int64_t> value_at(std::span<const std::int64_t> coefficients, std::span<const std::int64_t> sizes) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    std::int64_t product = coefficients[i];
    for (std::size_t bit = 0; bit < sizes.size(); ++bit)
      if (i >> bit & 1 && __builtin_mul_overflow(product, sizes[bit], &product)) return std::nullopt;
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

bool is_whole(const Json& json) {
  constexpr double kMost = 1e15;  // exact as a double
  if (json.is_number_integer()) return true;
  return json.is_number_float() && std::floor(json.get<double>()) == json.get<double>() &&
         std::abs(json.get<double>()) < kMost;
}

class Merger {
 public:
  explicit Merger(const OpenSizes& sizes) : axes_(sizes.axes()), test_(sizes.samples().back()) {}

  Json merge(const std::vector<const Json*>& samples, const std::string& place) const {
    const Json& first = *samples[0];
    if (std::ranges::all_of(samples, [&](const Json* s) { return *s == first; })) return first;
    const auto all = [&](auto holds) { return std::ranges::all_of(samples, holds); };
    if (first.is_object() && all([&](const Json* s) { return s->is_object() && s->size() == first.size(); })) {
      Json out = Json::object();
      for (const auto& [key, value] : first.items()) {
        if (!all([&, &key = key](const Json* s) { return s->contains(key); })) differ(place);
        out[key] = merge(each(samples, [&, &key = key](const Json& s) -> const Json& { return s.at(key); }),
                         place + "." + key);
      }
      return out;
    }
    if (first.is_array() && all([&](const Json* s) { return s->is_array() && s->size() == first.size(); })) {
      Json out = Json::array();
      for (std::size_t i = 0; i < first.size(); ++i)
        out.push_back(
            merge(each(samples, [&](const Json& s) -> const Json& { return s.at(i); }), text(place, "[", i, "]")));
      return out;
    }
    if (!all([](const Json* s) { return is_whole(*s); })) differ(place);
    return polynomial(samples, place);
  }

 private:
  template <class F>
  static std::vector<const Json*> each(const std::vector<const Json*>& samples, F part) {
    std::vector<const Json*> parts;
    for (const Json* sample : samples) parts.push_back(&part(*sample));
    return parts;
  }

  Json polynomial(const std::vector<const Json*>& samples, const std::string& place) const {
    std::vector<std::int64_t> values;
    for (const Json* sample : samples) values.push_back(sample->get<std::int64_t>());
    const bool real = std::ranges::any_of(samples, [](const Json* s) { return s->is_number_float(); });
    const std::int64_t tested = values.back();
    values.pop_back();
    bool whole = true;
    const auto found = coefficients(std::move(values), axes_, whole);
    if (!whole || value_at(found, test_) != tested) differ(place);
    Json out{{kKey, found}};
    if (real) out[kReal] = true;
    return out;
  }

  [[noreturn]] static void differ(const std::string& place) {
    fail(ErrorCode::invalid_argument,
         "the function cannot be saved with open sizes: traced for other sizes, its graph differs at ",
         place.empty() ? "its end" : place.substr(1),
         " in more than numbers that follow from the sizes; give all sizes of its inputs");
  }

  const std::vector<int>& axes_;
  std::vector<std::int64_t> test_;
};

}  // namespace

OpenSizes::OpenSizes(const std::vector<InputSpec>& inputs) : inputs_(inputs) {
  for (const InputSpec& input : inputs)
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis)
      if (input.shape[axis] == InputSpec::kAny && !std::ranges::count(axes_, static_cast<int>(axis)))
        axes_.push_back(static_cast<int>(axis));
  std::ranges::sort(axes_);
  if (axes_.size() > kMostAxes)
    fail(ErrorCode::invalid_argument, "a saved function may leave ", kMostAxes, " axes open, got ", axes_.size(), ": ",
         join(axes_));
}

std::vector<std::vector<std::int64_t>> OpenSizes::samples() const {
  if (axes_.empty()) return {{}};
  std::vector<std::vector<std::int64_t>> list(std::size_t{1} << axes_.size());
  for (std::size_t i = 0; i < list.size(); ++i)
    for (std::size_t bit = 0; bit < axes_.size(); ++bit)
      list[i].push_back(i >> bit & 1 ? sizes_for(axes_[bit]).high : sizes_for(axes_[bit]).low);
  list.emplace_back();
  for (const int axis : axes_) list.back().push_back(sizes_for(axis).test);
  return list;
}

Specs OpenSizes::specs(std::span<const std::int64_t> sizes) const {
  Specs specs;
  for (const InputSpec& input : inputs_) {
    std::vector<std::int64_t> shape = input.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] == InputSpec::kAny)
        shape[axis] = sizes[static_cast<std::size_t>(std::ranges::find(axes_, static_cast<int>(axis)) - axes_.begin())];
    specs.emplace_back(input.dtype, Shape(std::span<const std::int64_t>(shape)));
  }
  return specs;
}

std::vector<std::int64_t> OpenSizes::sizes_of(const Tensors& arguments) const {
  std::vector<std::int64_t> sizes(axes_.size(), -1);
  for (std::size_t i = 0; i < arguments.size(); ++i)
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      const auto axis = static_cast<std::size_t>(axes_[k]);
      if (axis >= inputs_[i].shape.size() || inputs_[i].shape[axis] != InputSpec::kAny) continue;
      if (arguments[i].rank() <= axes_[k])
        fail(ErrorCode::shape_mismatch, "input ", i, " needs ", inputs_[i].shape.size(), " axes, got ",
             arguments[i].spec());
      const std::int64_t size = arguments[i].shape()[axes_[k]];
      if (sizes[k] >= 0 && sizes[k] != size)
        fail(ErrorCode::shape_mismatch, "axis ", axis, " of all inputs must have one size, got ", sizes[k],
             " and, in input ", i, ", ", size);
      sizes[k] = size;
    }
  return sizes;
}

Json OpenSizes::merged(const std::vector<Json>& samples) const {
  std::vector<const Json*> all;
  for (const Json& sample : samples) all.push_back(&sample);
  return Merger(*this).merge(all, "");
}

Json OpenSizes::at(const Json& merged, std::span<const std::int64_t> sizes) const {
  if (merged.is_array()) {
    Json out = Json::array();
    for (const Json& item : merged) out.push_back(at(item, sizes));
    return out;
  }
  if (!merged.is_object()) return merged;
  if (const auto open = merged.find(kKey); open != merged.end() && open->is_array()) {
    std::vector<std::int64_t> found;
    for (const Json& c : *open)
      if (c.is_number_integer()) found.push_back(c.get<std::int64_t>());
    const auto value = value_at(found, sizes);
    if (found.size() != open->size() || found.size() != std::size_t{1} << sizes.size() || !value)
      fail(ErrorCode::bad_file, "a size that depends on ", sizes.size(), " others needs ",
           std::size_t{1} << sizes.size(), " whole numbers within range, got ", open->dump());
    return merged.contains(kReal) ? Json(static_cast<double>(*value)) : Json(*value);
  }
  Json out = Json::object();
  for (const auto& [key, value] : merged.items()) out[key] = at(value, sizes);
  return out;
}

}  // namespace tandem
