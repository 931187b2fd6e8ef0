#include "tandem/backend/cpu/jit_runtime.h"

#include <cstdlib>
#include <list>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "tandem/backend/cpu/loop.h"

namespace tandem::cpu {
namespace {

/// Old code is dropped first; who still runs it keeps it alive.
constexpr std::size_t kMaxCachedCodes = 1024;

JitTarget machine_target() {
  const auto& features = asmjit::CpuInfo::host().features().x86();
  const bool avx2 = features.hasAVX2() && features.hasFMA() && features.hasF16C() && features.hasBMI2();
  if (!avx2) return JitTarget::none;
  const bool avx512 =
      features.hasAVX512_F() && features.hasAVX512_BW() && features.hasAVX512_DQ() && features.hasAVX512_VL();
  return avx512 ? JitTarget::avx512 : JitTarget::avx2;
}

std::string error_text(asmjit::Error error) {
  return std::string(asmjit::DebugUtils::errorAsString(error)) + " (AsmJit " + std::to_string(error) + ")";
}

/// Remembers the first error, so that code can be written without looking at each instruction's result.
class FirstError : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error error, const char* message, asmjit::BaseEmitter*) override {
    if (text_.empty()) text_ = error_text(error) + ": " + message;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Runs `write` and lays out its code in `holder`; returns what went wrong, or nothing.
std::string build(asmjit::CodeHolder& holder, const JitWriter& write, asmjit::DiagnosticOptions checks) {
  FirstError errors;
  holder.setErrorHandler(&errors);
  asmjit::x86::Compiler compiler(&holder);
  compiler.addDiagnosticOptions(checks);
  std::string refusal = write(compiler);
  if (refusal.empty()) {
    const asmjit::Error error = compiler.finalize();
    if (!errors.text().empty()) refusal = "generating code failed: " + errors.text();
    else if (error) refusal = "generating code failed: " + error_text(error);
  }
  holder.detach(&compiler);
  holder.setErrorHandler(nullptr);
  return refusal;
}

class CodeCache {
 public:
  std::shared_ptr<const JitCode> get(const std::string& key, const JitWriter& write, std::string& refusal) {
    if (auto found = find(key)) return found;
    asmjit::CodeHolder holder;
    holder.init(runtime_->environment());
    refusal = build(holder, write, asmjit::DiagnosticOptions::kNone);
    if (!refusal.empty()) return nullptr;
    void* entry = nullptr;
    if (const asmjit::Error error = runtime_->add(&entry, &holder)) {
      refusal = "no memory for generated code: " + error_text(error);
      return nullptr;
    }
    return keep(key, std::make_shared<const JitCode>(runtime_, entry));
  }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const JitCode> code;
  };

  std::shared_ptr<const JitCode> find(const std::string& key) {
    std::lock_guard lock(mutex_);
    const auto it = by_key_.find(key);
    if (it == by_key_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, it->second);
    return it->second->code;
  }

  std::shared_ptr<const JitCode> keep(const std::string& key, std::shared_ptr<const JitCode> code) {
    std::shared_ptr<const JitCode> dropped;  // freed after the lock
    std::lock_guard lock(mutex_);
    if (const auto it = by_key_.find(key); it != by_key_.end()) return it->second->code;  // another thread was first
    recent_.push_front({key, code});
    by_key_.emplace(recent_.front().key, recent_.begin());
    if (recent_.size() > kMaxCachedCodes) {
      dropped = std::move(recent_.back().code);
      by_key_.erase(recent_.back().key);
      recent_.pop_back();
    }
    return code;
  }

  std::shared_ptr<asmjit::JitRuntime> runtime_ = std::make_shared<asmjit::JitRuntime>();
  std::mutex mutex_;
  std::list<Entry> recent_;  // most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
};

}  // namespace

JitTarget current_target(std::string& refusal) {
  static const JitTarget machine = machine_target();
  if (machine == JitTarget::none) {
    refusal = "this processor has no AVX2 with FMA, F16C and BMI2";
    return JitTarget::none;
  }
  const char* setting = std::getenv("TANDEM_JIT");
  const std::string_view value = setting ? setting : "";
  if (value == "0") {
    refusal = "generated code is switched off by TANDEM_JIT=0";
    return JitTarget::none;
  }
  return value == "avx2" ? JitTarget::avx2 : machine;
}

std::string jit_target() {
  std::string refusal;
  switch (current_target(refusal)) {
    case JitTarget::avx2: return "AVX2";
    case JitTarget::avx512: return "AVX-512";
    default: return "none";
  }
}

std::shared_ptr<const JitCode> cached_code(const std::string& key, const JitWriter& write, std::string& refusal) {
  static CodeCache cache;
  return cache.get(key, write, refusal);
}

std::string assemble(const JitWriter& write, std::string& refusal) {
  asmjit::CodeHolder holder;
  holder.init(asmjit::Environment::host());
  using asmjit::DiagnosticOptions;
  refusal = build(holder, write, DiagnosticOptions::kValidateAssembler | DiagnosticOptions::kValidateIntermediate);
  if (!refusal.empty()) return {};
  holder.flatten();
  holder.resolveUnresolvedLinks();
  holder.relocateToBase(0);
  std::string bytes(holder.codeSize(), '\0');
  holder.copyFlattenedData(bytes.data(), bytes.size());
  return bytes;
}

}  // namespace tandem::cpu
