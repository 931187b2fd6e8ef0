// Plain loops compiled a second time for AVX2, taken where the machine has it.
#pragma once

namespace tandem::cpu {

inline bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}

inline bool has_avx512() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
  return has;
}

template <class Body>
[[gnu::target("avx2"), gnu::noinline]] void run_as_avx2(const Body& body) {
  body();
}

/// Runs `body`, whose loops the compiler vectorises for AVX2 if it is a lambda marked always_inline:
/// wide([&]() __attribute__((always_inline)) { ... }).
template <class Body>
void wide(const Body& body) {
  if (has_avx2()) run_as_avx2(body);
  else body();
}

}  // namespace tandem::cpu
