#include "tandem/backend/cpu/halves.h"

#include <immintrin.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/core/device.h"

namespace tandem::cpu {
namespace {

template <class T>
__attribute__((always_inline)) inline void convert_each(const T* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}
template <class T>
__attribute__((always_inline)) inline void convert_each(const float* from, T* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = T(from[i]);
}

bool has_f16c() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return has;
}

constexpr std::int64_t kLanes = 8;

[[gnu::target("avx2,f16c")]] std::int64_t widen_f16c(const Half* from, float* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  return i;
}
[[gnu::target("avx2,f16c")]] std::int64_t narrow_f16c(const float* from, Half* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}

}  // namespace

void widen(const BFloat16* from, float* to, std::int64_t count) {
  wide([&]() __attribute__((always_inline)) { convert_each(from, to, count); });
}
void narrow(const float* from, BFloat16* to, std::int64_t count) {
  wide([&]() __attribute__((always_inline)) { convert_each(from, to, count); });
}
void widen(const Half* from, float* to, std::int64_t count) {
  const std::int64_t done = has_f16c() ? widen_f16c(from, to, count) : 0;
  convert_each(from + done, to + done, count - done);
}
void narrow(const float* from, Half* to, std::int64_t count) {
  const std::int64_t done = has_f16c() ? narrow_f16c(from, to, count) : 0;
  convert_each(from + done, to + done, count - done);
}

namespace {

/// Memory for one run, from the device's pool where there is one: the same block in every step of a loop.
class Temporary {
 public:
  Temporary(Device* device, std::size_t bytes)
      : space_(device ? &device->memory() : nullptr),
        bytes_(bytes),
        address_(space_ ? space_->allocate(bytes) : ::operator new(bytes, kAlignment)) {}
  ~Temporary() {
    if (space_) space_->free(address_, bytes_);
    else ::operator delete(address_, kAlignment);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  char* address() const { return static_cast<char*>(address_); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  MemorySpace* space_;
  std::size_t bytes_;
  void* address_;
};

/// A call with float32 where the other has 16 bits.
class WidenedCall {
 public:
  explicit WidenedCall(const KernelCall& call)
      : inputs_(widened(call.inputs)),
        outputs_(widened(call.outputs)),
        call_{call.op, call.attrs, inputs_, outputs_, call.device} {}
  WidenedCall(const WidenedCall&) = delete;
  WidenedCall& operator=(const WidenedCall&) = delete;
  const KernelCall& call() const { return call_; }

 private:
  static std::vector<Operand> widened(std::span<const Operand> operands) {
    std::vector<Operand> all(operands.begin(), operands.end());
    for (Operand& operand : all)
      if (is_half(operand.dtype())) operand.spec = TensorSpec(DType::f32, operand.shape());
    return all;
  }
  std::vector<Operand> inputs_, outputs_;
  KernelCall call_;
};

const Kernel* first_serving(const KernelList& kernels, const KernelCall& call) {
  for (const Kernel& kernel : kernels)
    if (!kernel.supports || kernel.supports(call)) return &kernel;
  return nullptr;
}

/// A 16-bit operand, and where it lies among the converted ones.
struct Converted {
  std::size_t index;
  DType dtype;
  std::int64_t elements;
  std::size_t offset;
};

template <class F>
void visit_half(DType dtype, const F& f) {
  if (dtype == DType::bf16) f(BFloat16{});
  else f(Half{});
}

class Widened final : public PreparedKernel {
 public:
  Widened(const KernelCall& call, Prepared kernel)
      : device_(call.device),
        kernel_(std::move(kernel)),
        inputs_(call.inputs.size()),
        outputs_(call.outputs.size()) {
    for (std::size_t i = 0; i < inputs_; ++i) add(before_, i, call.inputs[i]);
    for (std::size_t i = 0; i < outputs_; ++i) add(after_, i, call.outputs[i]);
  }

  void run(const KernelArgs& args) const override {
    const Temporary memory(device_, bytes_);
    std::vector<const void*> inputs(args.inputs, args.inputs + inputs_);
    std::vector<void*> outputs(args.outputs, args.outputs + outputs_);
    for (const Converted& c : before_) {
      auto* to = reinterpret_cast<float*>(memory.address() + c.offset);
      visit_half(c.dtype, [&]<class T>(T) {
        const auto* from = static_cast<const T*>(args.inputs[c.index]);
        parallel_ranges(c.elements, sizeof(float),
                        [&](std::int64_t first, std::int64_t last) { widen(from + first, to + first, last - first); });
      });
      inputs[c.index] = to;
    }
    for (const Converted& c : after_) outputs[c.index] = memory.address() + c.offset;
    kernel_->run({inputs.data(), outputs.data(), args.run_time});
    for (const Converted& c : after_) {
      const auto* from = reinterpret_cast<const float*>(memory.address() + c.offset);
      visit_half(c.dtype, [&]<class T>(T) {
        auto* to = static_cast<T*>(args.outputs[c.index]);
        parallel_ranges(c.elements, sizeof(float),
                        [&](std::int64_t first, std::int64_t last) { narrow(from + first, to + first, last - first); });
      });
    }
  }

 private:
  void add(std::vector<Converted>& list, std::size_t index, const Operand& operand) {
    if (!is_half(operand.dtype())) return;
    list.push_back({index, operand.dtype(), operand.shape().elements(), bytes_});
    constexpr std::size_t kLine = 64;
    bytes_ += (static_cast<std::size_t>(operand.shape().elements()) * sizeof(float) + kLine - 1) / kLine * kLine;
  }

  Device* device_;
  Prepared kernel_;
  std::size_t inputs_, outputs_, bytes_ = 64;
  std::vector<Converted> before_, after_;
};

}  // namespace

Support widened_support(const KernelCall& call, const KernelList& kernels) {
  if (!is_half(call.outputs[0].dtype())) return no("converts the 16-bit floats, got ", call.outputs[0].dtype());
  if (!all_dense(call)) return no("needs dense operands");
  if (!first_serving(kernels, WidenedCall(call).call())) return no("no kernel of float32 serves it but the reference");
  return yes();
}

Prepared prepare_widened(const KernelCall& call, const KernelList& kernels) {
  const WidenedCall widened(call);
  return std::make_unique<Widened>(call, first_serving(kernels, widened.call())->prepare(widened.call()));
}

}  // namespace tandem::cpu
