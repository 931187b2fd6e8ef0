// Debian's static AsmJit refers to `stderr` in a way that no shared library can link, from the one file that holds
// these three functions. Defined here, they keep the linker from taking that file.
#include <asmjit/core.h>

#include "tandem/base/error.h"

ASMJIT_BEGIN_NAMESPACE

const char* DebugUtils::errorAsString(Error) noexcept { return "AsmJit error"; }
void DebugUtils::debugOutput(const char*) noexcept {}
void DebugUtils::assertionFailed(const char* file, int line, const char* message) noexcept {
  tandem::check_failed(message, file, line, "");
}

ASMJIT_END_NAMESPACE
