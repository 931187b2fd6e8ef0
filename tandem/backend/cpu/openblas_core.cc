#include "tandem/backend/cpu/openblas_core.h"

#include <cblas.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "tandem/backend/cpu/simd.h"

namespace tandem::cpu {
namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

bool uses_avx2() {
  constexpr std::string_view kNames[] = {"Haswell", "Zen", "Excavator", "SkylakeX", "Cooperlake", "SapphireRapids"};
  const auto same = [](char a, char b) { return (a | 32) == (b | 32); };  // spelt differently from release to release
  const std::string_view chosen = openblas_get_corename();
  return std::ranges::any_of(kNames, [&](std::string_view name) { return std::ranges::equal(name, chosen, same); });
}

/// The newest that needs nothing the processor lacks.
const char* fitting_core() {
  const bool server = has_avx512() && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512cd");
  return server ? "SkylakeX" : has_avx2() && __builtin_cpu_supports("fma") ? "Haswell" : nullptr;
}

void choose() {
  const char* const core = fitting_core();
  if (!core || uses_avx2() || std::getenv(kVariable)) return;
  using Step = void (*)();
  // Not declared by its header, and absent from builds for one processor.
  const auto forget = reinterpret_cast<Step>(dlsym(RTLD_DEFAULT, "gotoblas_dynamic_quit"));
  const auto choose_again = reinterpret_cast<Step>(dlsym(RTLD_DEFAULT, "gotoblas_dynamic_init"));
  if (!forget || !choose_again) return;
  setenv(kVariable, core, 1);
  forget();
  choose_again();
  unsetenv(kVariable);
}

}  // namespace

void choose_openblas_core() {
  static const bool chosen = (choose(), true);
  static_cast<void>(chosen);
}

}  // namespace tandem::cpu
