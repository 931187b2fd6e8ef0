// Runs one kernel by hand and compares it with the reference, for tests below the runtime.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tandem/backend/cpu/library_kernels.h"
#include "tandem/backend/cpu/reference/reference.h"
#include "tandem/base/cores.h"
#include "tandem/op/op_def.h"
#include "tandem/op/records.h"

namespace tandem::cpu {

/// A tensor of a test: raw bytes with a dtype and a shape.
struct Value {
  TensorSpec spec;
  std::vector<char> bytes;

  Value(DType dtype, const Shape& shape) : spec(dtype, shape), bytes(spec.bytes() + 64, '\x55') {}
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  bool same_bits(const Value& other) const { return std::memcmp(bytes.data(), other.bytes.data(), spec.bytes()) == 0; }
  double at(std::int64_t i) const {
    return visit_dtype(spec.dtype(), [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return double(float(as<T>()[i]));
      else return double(as<T>()[i]);
    });
  }
};

/// Small numbers with few bits, repeated now and then, the same for the same seed.
inline Value sample(DType dtype, const Shape& shape, unsigned seed = 1) {
  Value value(dtype, shape);
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
      const int number = static_cast<int>(random() % 41) - 20;
      if constexpr (std::is_same_v<T, bool>) value.as<T>()[i] = number > 0;
      else if constexpr (std::is_integral_v<T>) value.as<T>()[i] = static_cast<T>(std::abs(number));
      else value.as<T>()[i] = T(static_cast<float>(number) / 8);
    });
  return value;
}

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws Refused when the kernel says no.
inline Value run(const Kernel& kernel, const OpDef& op, const Attrs& attrs, const std::vector<Value>& inputs) {
  std::vector<const TensorSpec*> specs;
  std::vector<Operand> operands;
  std::vector<const void*> addresses;
  for (const Value& input : inputs) {
    specs.push_back(&input.spec);
    operands.emplace_back(input.spec);
    addresses.push_back(input.bytes.data());
  }
  const TensorSpec out = infer(op, specs, attrs)[0];
  const std::vector<Operand> outputs{Operand(out)};
  const KernelCall call{op, attrs, operands, outputs};
  const Support support = kernel.supports ? kernel.supports(call) : yes();
  if (!support) throw Refused(std::string(kernel.name) + ": " + support.reason);
  Value result(out.dtype(), out.shape());
  void* address = result.bytes.data();
  kernel.prepare(call)->run({addresses.data(), &address, attrs.run_time()});
  for (std::size_t i = out.bytes(); i < result.bytes.size(); ++i)
    EXPECT_EQ(result.bytes[i], '\x55') << "written behind the result";
  return result;
}

inline bool supports(const Kernel& kernel, const OpDef& op, const Attrs& attrs, const std::vector<Value>& inputs) {
  try {
    run(kernel, op, attrs, inputs);
  } catch (const Refused&) {
    return false;
  }
  return true;
}

inline void expect_near(const Value& got, const Value& wanted, double tolerance) {
  ASSERT_EQ(got.spec.shape(), wanted.spec.shape());
  if (tolerance == 0) {
    EXPECT_TRUE(got.same_bits(wanted));
    if (got.same_bits(wanted)) return;
  }
  for (std::int64_t i = 0; i < got.spec.shape().elements(); ++i)
    ASSERT_NEAR(got.at(i), wanted.at(i), tolerance * (1 + std::abs(wanted.at(i)))) << "element " << i;
}

/// Every kernel of the list that accepts the call agrees with the reference, and with itself for one to three
/// threads, bit by bit. At least one must accept.
inline void check_kernels(const KernelList& kernels, const Kernel& reference, const OpDef& op, const Attrs& attrs,
                          const std::vector<Value>& inputs, double tolerance = 0) {
  const Value wanted = run(reference, op, attrs, inputs);
  int accepted = 0;
  for (const Kernel& kernel : kernels) {
    if (!supports(kernel, op, attrs, inputs)) continue;
    ++accepted;
    SCOPED_TRACE(std::string(kernel.name));
    Cores::process().set_threads(1);
    const Value once = run(kernel, op, attrs, inputs);
    expect_near(once, wanted, tolerance);
    for (int threads = 2; threads <= 3; ++threads) {
      Cores::process().set_threads(threads);
      EXPECT_TRUE(run(kernel, op, attrs, inputs).same_bits(once)) << threads << " threads";
    }
  }
  EXPECT_GT(accepted, 0) << "no kernel accepts it";
}

}  // namespace tandem::cpu
