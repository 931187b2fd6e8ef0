// The one owner of the process's cores: how many we may use, and the pool that uses them.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "tandem/base/cgroup.h"

namespace tandem {

/// A borrowed callable; what it refers to must outlive the call.
class SliceBody {
 public:
  template <class F>
  SliceBody(const F& body)  // NOLINT: a lambda converts, as with std::function
      : object_(&body),
        call_([](const void* object, std::int64_t slice) { (*static_cast<const F*>(object))(slice); }) {}
  void operator()(std::int64_t slice) const { call_(object_, slice); }

 private:
  const void* object_;
  void (*call_)(const void*, std::int64_t);
};

/// More threads than any machine has cores: a larger number is a mistake, and the system might refuse it halfway.
constexpr int kMostThreads = 1024;

/// Cores that compute: those dedicated to it or the process's, limited by the cgroup's quota; TANDEM_CPU_THREADS
/// overrides.
int usable_cores();
/// Whole cores of the cgroup's quota; a large number when there is none.
int quota_cores(const CgroupPaths& paths = {});
/// The same of a cgroup's "cpu.max": "150000 100000" are 2 cores; nothing for "max" and what is none.
std::optional<int> cores_of_quota(std::string_view cpu_max);

/// Runs slices on the caller and the pool's workers. The slice grid is the caller's and must depend on the
/// shape only; which thread takes which slice is not fixed, so results must not depend on it. A forked process has
/// workers of its own, which start when it first has something for them.
class Cores {
 public:
  explicit Cores(int threads);
  /// As many threads as `usable` says; asked again about once a second, because quotas and masks change.
  explicit Cores(std::function<int()> usable);
  ~Cores();
  Cores(const Cores&) = delete;
  Cores& operator=(const Cores&) = delete;

  int threads() const;

  /// Calls body(0) … body(slices-1), each once, and returns when all are done. The first exception thrown
  /// by a slice is thrown again here. Nested or concurrent calls run on the calling thread. Cores that other threads
  /// have on loan (CoreLoan) are left to them.
  void parallel(std::int64_t slices, SliceBody body);

  /// The cores of the process.
  static Cores& process();
  /// Changes the number of threads, from now on whatever the machine says; waits until no slices run.
  void set_threads(int threads);

 private:
  struct State;
  class Forks;
  explicit Cores(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Shorthand for Cores::process().parallel, without waking anybody for a single slice.
inline void parallel(std::int64_t slices, SliceBody body) {
  if (slices == 1) return body(0);
  Cores::process().parallel(slices, body);
}

}  // namespace tandem
