#include "tandem/backend/opencl/clblast.h"

#include <clblast_c.h>
#include <dlfcn.h>

namespace tandem::opencl {
namespace {

CLBlastTranspose transpose_of(const ClblastMatrix& matrix) {
  return matrix.transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
}

}  // namespace

Clblast::Clblast(void* library) : sgemm_(dlsym(library, "CLBlastSgemm")) {}

const Clblast* Clblast::find() {
  static const Clblast* const found = []() -> const Clblast* {
    void* library = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return nullptr;
    static const Clblast clblast(library);
    return clblast.sgemm_ ? &clblast : nullptr;
  }();
  return found;
}

void Clblast::multiply(Context& context, const ClblastMatrix& a, const ClblastMatrix& b, Buffer& c,
                       const std::array<std::size_t, 3>& mnk) const {
  const auto sgemm = reinterpret_cast<decltype(&CLBlastSgemm)>(sgemm_);
  context.run_foreign("a matrix product of CLBlast", {a.buffer, b.buffer}, c,
                      [&](cl_command_queue queue, cl_event* event) -> cl_int {
                        return sgemm(CLBlastLayoutRowMajor, transpose_of(a), transpose_of(b), mnk[0], mnk[1], mnk[2], 1,
                                     a.buffer->memory.get(), 0, a.stride, b.buffer->memory.get(), 0, b.stride, 0,
                                     c.memory.get(), 0, mnk[1], &queue, event);
                      });
}

}  // namespace tandem::opencl
