// Products of bfloat16 by oneDNN, which has no plain function for them: a primitive a shape, made once.
#include <map>
#include <mutex>
#include <tuple>

#include "tandem/backend/cpu/gemm.h"
#include "tandem/backend/cpu/onednn.h"

namespace tandem::cpu {
namespace {

using Desc = dnnl::memory::desc;

Desc matrix(std::int64_t rows, std::int64_t columns, bool transposed, std::int64_t leading) {
  const dnnl::memory::dims strides = transposed ? dnnl::memory::dims{1, leading} : dnnl::memory::dims{leading, 1};
  return {{rows, columns}, dnnl::memory::data_type::bf16, strides};
}

/// All that a primitive depends on.
using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, bool, std::int64_t, std::int64_t, std::int64_t>;

SharedPrimitivePtr made(const Gemm<BFloat16>& g) {
  const Desc a = matrix(g.m, g.k, g.transpose_a, g.lda), b = matrix(g.k, g.n, g.transpose_b, g.ldb),
             c = matrix(g.m, g.n, false, g.ldc);
  const OneThread guard;
  const dnnl::matmul::primitive_desc descriptor(dnnl::matmul::desc(a, b, c), shared_attr(), onednn_engine());
  return share<dnnl::matmul>(descriptor, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
}

const SharedPrimitive& primitive_for(const Gemm<BFloat16>& g) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<Key, SharedPrimitivePtr>;  // not destroyed: kernels may run while the process ends
  const Key key{g.m, g.n, g.k, g.transpose_a, g.transpose_b, g.lda, g.ldb, g.ldc};
  const std::lock_guard lock(mutex);
  SharedPrimitivePtr& primitive = known[key];
  if (!primitive) primitive = made(g);
  return *primitive;
}

}  // namespace

// Intel's processors multiply pairs of bfloat16 in one of the two units that multiply floats: 32 products a cycle
// either way, and packing besides (1024^3 on a Sapphire Rapids: 0.53 of the speed of float). AMD's (Zen 4) multiply
// twice as many as floats.
bool avx512_bf16_pays() {
  static const bool pays = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_is("amd");
  return pays;
}

void onednn_gemm(const Gemm<BFloat16>& g) {
  const void* addresses[] = {g.a, g.b, g.c};
  primitive_for(g).execute(addresses);
}

}  // namespace tandem::cpu
