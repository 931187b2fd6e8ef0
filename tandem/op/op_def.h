// The record of an op: all that is true of it, in one place. Dispatch, kernels, gradients, Python, documentation
// and tests are derived from it.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/expr/formula.h"
#include "tandem/op/attrs.h"

namespace tandem {

/// What a shape rule sees.
struct InferContext {
  const OpDef& op;
  std::span<const TensorSpec* const> inputs;
  AttrView attrs;

  const TensorSpec& input(int i) const { return *inputs[i]; }
  const Shape& shape(int i) const { return inputs[i]->shape(); }
  DType dtype(int i) const { return inputs[i]->dtype(); }
  int count() const { return static_cast<int>(inputs.size()); }
};
using Specs = std::vector<TensorSpec>;

class GradContext;  // tandem/op/grad.h
struct OpCall;      // tandem/op/dispatcher.h

/// A short list of names, filled at compile time.
template <class T, int kCapacity>
struct FixedList {
  std::array<T, kCapacity> items{};
  int count = 0;
  constexpr FixedList() = default;
  constexpr FixedList(std::initializer_list<T> values) {
    for (const T& value : values) items[count++] = value;
  }
  constexpr int size() const { return count; }
  constexpr const T* begin() const { return items.data(); }
  constexpr const T* end() const { return items.data() + count; }
  constexpr const T& operator[](int i) const { return items[i]; }
};

/// Which values the gradient reads; the tape keeps no others. Bit i stands for input or output i.
struct GradReads {
  static constexpr std::uint32_t kAll = ~0u;  // however many there are
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;

  bool has_input(std::size_t i) const { return has(inputs, i); }
  bool has_output(std::size_t i) const { return has(outputs, i); }

 private:
  static bool has(std::uint32_t bits, std::size_t i) { return bits == kAll || (i < 32 && (bits >> i & 1)); }
};

/// Where an op is defined and smooth: tests and probes draw their values from it.
struct Domain {
  double low = -2;
  double high = 2;
};

struct OpDef {
  std::string_view name;                     // TensorFlow's
  std::string_view doc;                      // one sentence
  FixedList<std::string_view, 10> inputs;    // names of the tensors, TensorFlow's
  bool variadic = false;                     // the last name stands for any number of tensors
  FixedList<AttrDef, 8> attrs = {};
  DTypeSet dtypes = kNumeric;                // of the inputs that share a dtype
  std::uint32_t free_dtypes = 0;             // bit i: input i has a dtype of its own, checked by `infer`
  int outputs = 1;
  Specs (*infer)(const InferContext&) = nullptr;          // dtypes and shapes of the outputs; throws Error
  Formula scalar = {};                                    // elementwise ops: the formula
  DType (*compute_dtype)(DType) = nullptr;                // elementwise: computes in another dtype than it reads
  Tensors (*grad)(GradContext&) = nullptr;                // written in ops; one tensor an input, undefined = none
  GradReads grad_reads = {};
  double flops_per_element = 1;                           // elementwise and reductions: of an input element
  double (*flops)(const InferContext&) = nullptr;         // where that is not a matter of elements
  bool random = false;                                    // fresh values each call: never folded, never merged
  std::uint32_t in_place = 0;                             // bit i: output i may overwrite input i
  Domain domain = {};
  bool data_dependent_shape = false;                      // the result's shape depends on values: cannot be traced
  double (*depth)(const InferContext&) = nullptr;         // steps that must follow one another (scans, recurrences)
  bool view = false;                                      // the output is the input's bytes under another spec
  /// Where the output begins in input 0, in elements, when it is one block of it; else -1.
  std::int64_t (*block_at)(const Shape& whole, const Shape& block, const Attrs& attrs) = nullptr;

  // Ops made at run time (traced functions, control flow, fused regions) derive from OpDef and carry more.
  const OpDef* like = nullptr;                            // has the kernels of this op
  void (*execute)(OpCall&) = nullptr;                     // is run by this, not by a kernel

  int arity() const { return inputs.size(); }
};

/// The ops of one file, in the order of the documentation; each file under tandem/op ends with its own list.
using OpGroup = std::span<const OpDef* const>;

/// Every op there is.
std::span<const OpDef* const> op_list();
/// By name; null when unknown.
const OpDef* find_op(std::string_view name);

/// Checks arity and dtypes as the record states them, then runs the shape rule.
Specs infer(const OpDef& op, std::span<const TensorSpec* const> inputs, const Attrs& attrs);

/// Floating-point operations and bytes read and written: what placement reckons with.
struct Cost {
  double flops = 0;
  double bytes = 0;
};
Cost cost(const OpDef& op, std::span<const TensorSpec* const> inputs, const Attrs& attrs, const Specs& outputs);

}  // namespace tandem
