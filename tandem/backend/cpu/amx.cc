#include "tandem/backend/cpu/amx.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "tandem/backend/cpu/amx_tiles.h"
#include "tandem/base/environment.h"

namespace tandem::cpu {
namespace {

bool announced() {
  constexpr unsigned kFeatures = 7, kBfloat16 = 1u << 22, kTiles = 1u << 24;
  unsigned a, b, c, d;
  return __get_cpuid_count(kFeatures, 0, &a, &b, &c, &d) && (d & kBfloat16) && (d & kTiles) &&
         __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
}

/// Tiles are 8 KiB of state a thread: Linux saves them for processes that asked, for all their threads.
bool granted() {
  constexpr int kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM; headers may be older than they
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

/// In a child that shares this memory: touches registers, its own stack and its own signals only.
[[gnu::target("amx-tile,amx-bf16"), gnu::noinline]] void try_tiles() {
  std::signal(SIGILL, SIG_DFL);
  constexpr rlimit kNoCore{};
  setrlimit(RLIMIT_CORE, &kNoCore);
  _tile_loadconfig(&kTileShapes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_dpbf16ps(0, 1, 2);
  _tile_release();
}

/// Virtual machines that hide the list of tile shapes (cpuid leaf 0x1D) are of two kinds: tiles work, or end the
/// program with an illegal instruction. A child process finds out.
bool works() {
  const pid_t child = vfork();
  if (child < 0) return false;
  if (child == 0) {
    try_tiles();
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Support find_out() {
  if (!announced()) return no("the processor has no AMX tiles for bfloat16");
  if (!granted()) return no("the operating system does not grant AMX tiles to this process");
  if (!works()) return no("the machine announces AMX tiles and fails to run them");
  return yes();
}

}  // namespace

Support amx_support() {
  static const Support& machine =
      *new Support(find_out());  // not destroyed: kernels may be chosen while the process ends
  if (!environment_switch("TANDEM_AMX").value_or(true)) return no("AMX tiles are switched off by TANDEM_AMX=0");
  return machine;
}

}  // namespace tandem::cpu
