#include "tandem/op/open_size.h"

#include <algorithm>
#include <cmath>

#include "tandem/op/dispatcher.h"

namespace tandem {
namespace {

// Primes times 2^20: a product with a row of 2^33 elements is exact as a double, an array of so many elements fits into
// no memory, and differences of small multiples stay above kLeastOpenNumber, because the ratios are far from simple
// fractions.
constexpr std::int64_t kUnit = std::int64_t{1} << 20;
// Those of parts are smaller. No sum of three small multiples is a multiple.
constexpr std::array<std::int64_t, kMostStandIns> kOpenSizes = {1048583 * kUnit, 1696649 * kUnit, 2399381 * kUnit,
                                                                497011 * kUnit,  301013 * kUnit,  213599 * kUnit,
                                                                157007 * kUnit,  121267 * kUnit};
constexpr std::int64_t kMostTimes = std::int64_t{1} << 20;
constexpr std::int64_t kMostTimesOfTwo = 8;  // n + m, 2n - m

/// times × size + rest with a small rest.
std::optional<std::int64_t> times_in(std::int64_t number, std::int64_t size) {
  const std::int64_t times = (number + (number > 0 ? size / 2 : -(size / 2))) / size;
  if (times == 0 || std::abs(times) > kMostTimes || std::abs(number - times * size) > kMostOpenRest)
    return std::nullopt;
  return times;
}

/// As a sum of two open sizes; nothing when there are two ways.
std::optional<OpenNumber> sum_of_two(std::int64_t number) {
  std::optional<OpenNumber> found;
  for (std::size_t a = 0; a < kMostStandIns; ++a)
    for (std::size_t b = a + 1; b < kMostStandIns; ++b)
      for (std::int64_t times = -kMostTimesOfTwo; times <= kMostTimesOfTwo; ++times) {
        const std::int64_t left = number - times * kOpenSizes[a];
        const auto others = times == 0 ? std::nullopt : times_in(left, kOpenSizes[b]);
        if (!others || std::abs(*others) > kMostTimesOfTwo) continue;
        if (found) return std::nullopt;
        found.emplace();
        found->times[a] = times, found->times[b] = *others, found->rest = left - *others * kOpenSizes[b];
      }
  return found;
}

/// A real attribute: whole numbers may be sizes, all others are what they are.
std::optional<double> real_at(double traced, std::span<const std::int64_t> sizes) {
  constexpr double kLeast = static_cast<double>(kLeastOpenNumber), kMost = 0x1p62;
  if (!(std::abs(traced) >= kLeast && std::abs(traced) < kMost)) return traced;
  if (std::floor(traced) != traced) return std::nullopt;
  const auto known = size_at(static_cast<std::int64_t>(traced), sizes);
  return known ? std::optional(static_cast<double>(*known)) : std::nullopt;
}

/// Words of random ops that are no numbers but names of a stream.
bool names_stream(const OpDef& op, const AttrDef& def) {
  return op.random && (def.name == "key" || def.name == "counter");
}

std::optional<std::int64_t> word_at(const OpDef& op, const AttrDef& def, std::int64_t word,
                                    std::span<const std::int64_t> sizes) {
  if (names_stream(op, def)) return word;
  switch (def.kind) {
    case AttrKind::integer:
    case AttrKind::ints: return size_at(word, sizes);
    case AttrKind::real: {
      const auto known = real_at(std::bit_cast<double>(word), sizes);
      return known ? std::optional(std::bit_cast<std::int64_t>(*known)) : std::nullopt;
    }
    case AttrKind::boolean:
    case AttrKind::dtype:
    case AttrKind::choice: break;
  }
  return word;
}

}  // namespace

std::int64_t open_size(std::size_t which) { return kOpenSizes.at(which); }

bool is_open(std::int64_t size) { return is_open_number(size) && size_notes(); }

bool is_open(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return is_open(size); });
}

std::optional<std::int64_t> OpenNumber::at(std::span<const std::int64_t> sizes) const {
  std::int64_t sum = rest;
  for (std::size_t i = 0; i < kMostStandIns; ++i) {
    if (times[i] == 0) continue;
    std::int64_t product;
    if (i >= sizes.size() || __builtin_mul_overflow(times[i], sizes[i], &product) ||
        __builtin_add_overflow(sum, product, &sum))
      return std::nullopt;
  }
  return sum;
}

std::optional<OpenNumber> open_number(std::int64_t traced) {
  OpenNumber number;
  if (!is_open_number(traced)) {
    number.rest = traced;
    return number;
  }
  for (std::size_t i = 0; i < kMostStandIns; ++i)
    if (const auto times = times_in(traced, kOpenSizes[i])) {
      number.times[i] = *times, number.rest = traced - *times * kOpenSizes[i];
      return number;
    }
  return sum_of_two(traced);
}

std::string open_text(std::int64_t traced) {
  constexpr const char* kNames[kMostStandIns] = {"n", "m", "l", "p", "q", "r", "s", "t"};
  const auto number = open_number(traced);
  if (!number) return "a size made of open ones";
  if (!is_open_number(traced)) return text(traced);
  std::string out;
  for (std::size_t i = 0; i < kMostStandIns; ++i) {
    if (number->times[i] == 0) continue;
    if (number->times[i] == 1 && number->rest == 0 && out.empty() && traced == kOpenSizes[i]) return "None";
    out += text(out.empty() ? "" : " + ", number->times[i] == 1 ? "" : text(number->times[i]), kNames[i]);
  }
  return number->rest == 0 ? out : text(out, number->rest < 0 ? " - " : " + ", std::abs(number->rest));
}

std::string open_text(const Shape& shape) {
  std::string out = "[";
  for (std::int64_t size : shape) out += text(out.size() > 1 ? ", " : "", open_text(size));
  return out + "]";
}

std::optional<std::int64_t> size_at(std::int64_t traced, std::span<const std::int64_t> sizes) {
  if (!is_open_number(traced)) return traced;
  if (traced < 0) return std::nullopt;  // -1 and the like mean something else
  const auto number = open_number(traced);
  const auto known = number ? number->at(sizes) : std::nullopt;
  return known && *known >= 0 ? known : std::nullopt;
}

std::optional<Shape> shape_at(const Shape& traced, std::span<const std::int64_t> sizes) {
  std::array<std::int64_t, kMaxRank> known{};
  for (int i = 0; i < traced.rank(); ++i) {
    const auto size = size_at(traced[i], sizes);
    if (!size) return std::nullopt;
    known[static_cast<std::size_t>(i)] = *size;
  }
  return Shape(std::span<const std::int64_t>(known.data(), static_cast<std::size_t>(traced.rank())));
}

std::optional<Attrs> attrs_at(const OpDef& op, const Attrs& traced, std::span<const std::int64_t> sizes) {
  Attrs known;
  std::size_t at[2] = {0, 0};  // next word among key and run-time words
  for (const AttrDef& def : op.attrs) {
    const auto words = def.at_run_time ? traced.run_time() : traced.key();
    std::size_t& here = at[def.at_run_time];
    std::int64_t count = 1;
    if (def.kind == AttrKind::ints) known.push(def.at_run_time, count = words[here++]);
    for (; count > 0; --count) {
      const auto word = word_at(op, def, words[here++], sizes);
      if (!word) return std::nullopt;
      known.push(def.at_run_time, *word);
    }
  }
  return known;
}

SizeNotes*& size_notes() {
  thread_local SizeNotes* notes = nullptr;
  return notes;
}

namespace {

void note(const SizeCondition& condition) {
  if (!is_open(condition.number)) return;
  if (!open_number(condition.number))
    fail(ErrorCode::cannot_trace, "sizes are compared that do not simply follow from open ones");
  size_notes()->conditions.push_back(condition);
}

}  // namespace

bool is_same_size(std::int64_t a, std::int64_t b) {
  if (a != b) note({a - b, SizeCondition::not_zero});
  return a == b;
}

bool is_smaller_size(std::int64_t a, std::int64_t b) {
  note(a < b ? SizeCondition{a - b, SizeCondition::negative} : SizeCondition{a - b + 1, SizeCondition::positive});
  return a < b;
}

bool SizeCondition::holds(std::span<const std::int64_t> sizes) const {
  const auto open = open_number(number);
  const auto known = open ? open->at(sizes) : std::nullopt;
  if (!known) return false;
  return kind == positive ? *known > 0 : kind == negative ? *known < 0 : *known != 0;
}

// --- Parts of sizes ---

namespace {

/// Of whole numbers, rounded down; divisor > 0.
std::int64_t rounded_down(std::int64_t a, std::int64_t divisor) { return a / divisor - (a % divisor < 0); }

/// The largest stand-in left that, times the divisor, is not above the dividend: bounds of slices are checked with it.
/// The least if all are above, kMostStandIns if none is left.
std::size_t free_stand_in(const std::vector<SizePart>& parts, std::int64_t dividend, std::int64_t divisor) {
  std::size_t found = kMostStandIns;
  for (std::size_t i = kMostOpenSizes; i < kMostStandIns; ++i) {
    if (std::ranges::any_of(parts, [&](const SizePart& part) { return part.which == i; })) continue;
    found = i;
    if (kOpenSizes[i] <= dividend / divisor) break;
  }
  return found;
}

/// The stand-in for a part; the same one for the same part.
std::int64_t stand_in_of(std::int64_t dividend, std::int64_t divisor) {
  auto& parts = size_notes()->parts;
  for (const SizePart& part : parts)
    if (part.dividend == dividend && part.divisor == divisor) return kOpenSizes[part.which];
  const std::size_t which = free_stand_in(parts, dividend, divisor);
  if (which == kMostStandIns)
    fail(ErrorCode::cannot_trace, "more than ", kMostSizeParts, " different parts of open sizes are reckoned");
  parts.push_back({dividend, divisor, which});
  return kOpenSizes[which];
}

}  // namespace

std::int64_t floor_of_sizes(std::int64_t a, std::int64_t divisor) {
  if (!is_open(a)) return rounded_down(a, divisor);
  auto number = open_number(a);
  if (!number) fail(ErrorCode::cannot_trace, "a part is reckoned of a size that does not simply follow from open ones");
  // Whole multiples of the divisor are taken out first, so that the same part is found again: (n + 2) / 2 is n / 2 + 1.
  std::int64_t whole = rounded_down(number->rest, divisor), left = number->rest - whole * divisor;
  bool divides = true;
  for (std::size_t i = 0; i < kMostStandIns; ++i) {
    const std::int64_t times = rounded_down(number->times[i], divisor), over = number->times[i] - times * divisor;
    whole += times * kOpenSizes[i], left += over * kOpenSizes[i];
    divides &= over == 0;
  }
  if (divides) return whole;
  if (!open_number(left))
    fail(ErrorCode::cannot_trace, "a part is reckoned of a size that does not simply follow from open ones");
  return whole + stand_in_of(left, divisor);
}

std::optional<std::vector<std::int64_t>> SizeNotes::all_sizes(std::span<const std::int64_t> sizes) const {
  std::vector<std::int64_t> all(sizes.begin(), sizes.end());
  if (!parts.empty()) all.resize(kMostStandIns);
  for (const SizePart& part : parts) {
    const auto number = open_number(part.dividend);
    const auto dividend = number ? number->at(all) : std::nullopt;
    if (!dividend) return std::nullopt;
    all[part.which] = rounded_down(*dividend, part.divisor);
  }
  return all;
}

void require_known(std::string_view what, std::int64_t size) {
  if (is_open(size)) fail(ErrorCode::cannot_trace, what, " is reckoned from a size that is left open");
}

std::int64_t product_of_sizes(std::span<const std::int64_t> sizes) {
  std::int64_t product = 1;
  for (std::int64_t size : sizes)
    if (__builtin_mul_overflow(product, size, &product))
      fail(ErrorCode::cannot_trace, "a number is reckoned from the product of open sizes");
  return product;
}

const OpDef open_scalar_op{
    .name = "open_scalar",
    .doc = "numerator / denominator, once open sizes are known.",
    .attrs = {{.name = "numerator"}, {.name = "denominator"}, {.name = "dtype", .kind = AttrKind::dtype}},
    .infer = [](const InferContext& c) { return Specs{{c.attrs.dtype("dtype"), Shape{}}}; },
};

const OpDef open_sizes_op{
    .name = "open_sizes",
    .doc = "Sizes as a tensor, once open ones are known.",
    .attrs = {{.name = "values", .kind = AttrKind::ints}, {.name = "dtype", .kind = AttrKind::dtype}},
    .infer =
        [](const InferContext& c) {
          return Specs{{c.attrs.dtype("dtype"), Shape{static_cast<std::int64_t>(c.attrs.ints("values").size())}}};
        },
};

Tensor ratio_of_sizes(std::int64_t numerator, std::int64_t denominator, DType dtype) {
  const Attrs attrs = make_attrs(open_scalar_op, numerator, denominator, dtype);
  if (is_open(numerator) || is_open(denominator)) return apply(open_scalar_op, {}, attrs);
  return *known_number(open_scalar_op, attrs);
}

Tensor open_sizes(std::span<const std::int64_t> numbers, DType dtype) {
  return apply(open_sizes_op, {}, make_attrs(open_sizes_op, numbers, dtype));
}

std::optional<Tensor> known_number(const OpDef& op, const Attrs& attrs) {
  const AttrView view(op, attrs);
  if (&op == &open_scalar_op) {
    const Tensor ratio = Tensor::scalar(
        static_cast<double>(view.integer("numerator")) / static_cast<double>(view.integer("denominator")),
        view.dtype("dtype"));
    ratio.impl()->of_sizes = true;
    return ratio;
  }
  if (&op != &open_sizes_op) return std::nullopt;
  const auto values = view.ints("values");
  const Shape shape{static_cast<std::int64_t>(values.size())};
  if (view.dtype("dtype") == DType::i64) return Tensor::from(values, shape);
  return Tensor::from(std::vector<std::int32_t>(values.begin(), values.end()), shape);
}

}  // namespace tandem
