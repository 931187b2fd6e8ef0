// Sizes that are not known while a function is traced. A number that no program has stands for each; what is computed
// from it by adding, subtracting and multiplying is found again by that number, a part of one (n / 2) gets a number of
// its own, and what is not found again refuses to be traced so.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tandem/op/op_def.h"

namespace tandem {

/// Different open sizes that one trace may have.
inline constexpr std::size_t kMostOpenSizes = 3;
/// Different parts of open sizes (halves, every third) that one trace may have.
inline constexpr std::size_t kMostSizeParts = 5;
inline constexpr std::size_t kMostStandIns = kMostOpenSizes + kMostSizeParts;
/// Numbers from here on, in the sizes and attributes of a trace with open sizes, come from one.
inline constexpr std::int64_t kLeastOpenNumber = std::int64_t{1} << 32;
/// What may be added to open sizes or taken off.
inline constexpr std::int64_t kMostOpenRest = std::int64_t{1} << 18;

/// The number that stands for open size `which`; from kMostOpenSizes on, for a part of one.
std::int64_t open_size(std::size_t which);
inline bool is_open_number(std::int64_t number) { return number >= kLeastOpenNumber || number <= -kLeastOpenNumber; }
/// Whether a size is open in the trace that is being made on this thread; outside of one none is, however large.
bool is_open(std::int64_t size);
bool is_open(const Shape& shape);

/// A number as open sizes make it up: times[0] × size 0 + times[1] × size 1 + … + rest.
struct OpenNumber {
  std::array<std::int64_t, kMostStandIns> times{};
  std::int64_t rest = 0;
  /// Nothing where it overflows.
  std::optional<std::int64_t> at(std::span<const std::int64_t> sizes) const;
};
/// What `traced` was made of; nothing when it was made in another way (a product of two open sizes).
std::optional<OpenNumber> open_number(std::int64_t traced);
/// "2n + 1", "None" for a size alone.
std::string open_text(std::int64_t traced);
/// "[None, 100]"
std::string open_text(const Shape& shape);

/// What the number is for these sizes. Nothing when it cannot be told, and when it would be negative: a size or a bound
/// that was reckoned for larger ones.
std::optional<std::int64_t> size_at(std::int64_t traced, std::span<const std::int64_t> sizes);
std::optional<Shape> shape_at(const Shape& traced, std::span<const std::int64_t> sizes);
/// Attributes with the sizes put in.
std::optional<Attrs> attrs_at(const OpDef& op, const Attrs& traced, std::span<const std::int64_t> sizes);

/// Where open sizes are compared with others, what is traced holds for sizes that compare in the same way. These note
/// what they are asked.
bool is_same_size(std::int64_t a, std::int64_t b);
bool is_smaller_size(std::int64_t a, std::int64_t b);
/// What was found of a number made of open sizes.
struct SizeCondition {
  std::int64_t number;
  enum { positive, negative, not_zero } kind;
  bool holds(std::span<const std::int64_t> sizes) const;
};
/// A number made of open sizes, divided and rounded down: what a stand-in of its own stands for.
struct SizePart {
  std::int64_t dividend, divisor;
  std::size_t which;  // as in open_size()
};
/// All that was found of open sizes, and the parts that were made of them.
struct SizeNotes {
  std::vector<SizeCondition> conditions = {};
  std::vector<SizePart> parts = {};
  /// The sizes given and those of the parts, by stand-in. Nothing where one overflows.
  std::optional<std::vector<std::int64_t>> all_sizes(std::span<const std::int64_t> sizes) const;
};
/// Since a trace with open sizes began on this thread; null outside of such.
SizeNotes*& size_notes();

/// a / divisor, rounded down, a size or a number made of such; divisor > 0. Throws cannot_trace when there are too many
/// parts.
std::int64_t floor_of_sizes(std::int64_t a, std::int64_t divisor);

/// Throws cannot_trace when `size` is open: for what is reckoned from it in other ways than those above.
void require_known(std::string_view what, std::int64_t size);

/// Their product; throws cannot_trace when it has too many open ones.
std::int64_t product_of_sizes(std::span<const std::int64_t> sizes);

/// numerator / denominator as a scalar, reckoned from sizes that may be open: then it is known when they are.
Tensor ratio_of_sizes(std::int64_t numerator, std::int64_t denominator, DType dtype);
/// The numbers as a tensor of one axis, some of them open.
Tensor open_sizes(std::span<const std::int64_t> numbers, DType dtype);
/// The ops that these two record. They have no kernel: with the sizes put in they are constants.
extern const OpDef open_scalar_op, open_sizes_op;
/// That constant; nothing for other ops.
std::optional<Tensor> known_number(const OpDef& op, const Attrs& attrs);

}  // namespace tandem
