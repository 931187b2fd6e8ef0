#include "tandem/exec/effect_log.h"

namespace tandem {

EffectLog*& EffectLog::current() {
  thread_local EffectLog* log = nullptr;
  return log;
}

}  // namespace tandem
