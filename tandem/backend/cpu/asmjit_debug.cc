// AsmJit's three debugging functions, defined here instead of taken from its archive: Debian's libasmjit.a is not
// position independent in this one place (it names stderr), which would keep it out of a shared library.
#include <asmjit/core.h>

#include <cstdio>
#include <cstdlib>

ASMJIT_BEGIN_NAMESPACE

const char* DebugUtils::errorAsString(Error error) noexcept {
  switch (error) {
    case kErrorOk: return "no error";
    case kErrorOutOfMemory: return "out of memory";
    case kErrorInvalidArgument: return "invalid argument";
    case kErrorInvalidState: return "invalid state";
    case kErrorFeatureNotEnabled: return "feature not enabled";
    case kErrorTooManyHandles: return "too many handles";
    case kErrorTooLarge: return "too large";
    case kErrorFailedToOpenAnonymousMemory: return "no anonymous memory";
    case kErrorInvalidInstruction: return "invalid instruction";
    case kErrorInvalidRegType: return "invalid register type";
    case kErrorInvalidOperandSize: return "invalid operand size";
    case kErrorAmbiguousOperandSize: return "ambiguous operand size";
    case kErrorConsecutiveRegsAllocation: return "consecutive registers not available";
    default: return "another error";
  }
}

void DebugUtils::debugOutput(const char* text) noexcept { std::fputs(text, stderr); }

void DebugUtils::assertionFailed(const char* file, int line, const char* message) noexcept {
  std::fprintf(stderr, "AsmJit: assertion failed at %s:%d: %s\n", file, line, message);
  std::abort();
}

ASMJIT_END_NAMESPACE
