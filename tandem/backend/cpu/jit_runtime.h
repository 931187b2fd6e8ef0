// Generated machine code: what this machine can run, memory for code, and the cache of finished code.
#pragma once
#include <asmjit/x86.h>

#include <functional>
#include <memory>
#include <string>

namespace tandem::cpu {

/// The instruction sets that code is generated for. avx2 includes FMA, F16C and BMI2; avx512 is F, BW, DQ and VL.
enum class JitTarget { none, avx2, avx512 };

/// What this machine has, lowered by TANDEM_JIT=0 (none) and TANDEM_JIT=avx2. `refusal` says why none.
JitTarget current_target(std::string& refusal);

/// A finished function; its code is freed with the last owner.
class JitCode {
 public:
  JitCode(std::shared_ptr<asmjit::JitRuntime> runtime, void* entry) : runtime_(std::move(runtime)), entry_(entry) {}
  ~JitCode() { runtime_->release(entry_); }
  JitCode(const JitCode&) = delete;
  JitCode& operator=(const JitCode&) = delete;
  void* entry() const { return entry_; }

 private:
  std::shared_ptr<asmjit::JitRuntime> runtime_;
  void* entry_;
};

/// Writes one function with the signature void(const Args*) into a compiler; returns why it cannot, or nothing.
using JitWriter = std::function<std::string(asmjit::x86::Compiler&)>;

/// The code named `key` from the cache, or written now. Null with `refusal` filled when that fails.
std::shared_ptr<const JitCode> cached_code(const std::string& key, const JitWriter& write, std::string& refusal);

/// Assembles without the cache and without running: the bytes, for disassembly and for other machines.
std::string assemble(const JitWriter& write, std::string& refusal);

}  // namespace tandem::cpu
