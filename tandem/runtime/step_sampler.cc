#include "tandem/runtime/step_sampler.h"

#include <algorithm>
#include <cmath>

namespace tandem {
namespace {

constexpr double kLeastSeconds = 5e-3;  // between two that are timed: timing costs some microseconds
constexpr int kRest = 7;                // steps that are left in peace after one that was timed
constexpr int kAttentive = 2;  // steps that are timed after an unusual one, and again after each that follows
constexpr double kUnusual = 0.1;  // of the usual time, more or less
constexpr double kMemory = 16;  // steps that the usual time is about: long enough to judge what has changed
constexpr double kFar = 1.5;  // a pause of the program counts as this much

}  // namespace

void StepSampler::begin(double now_s) {
  const double took_s = began_s_ > 0 ? now_s - began_s_ : 0;
  began_s_ = now_s;
  ++untimed_;
  if (took_s <= 0) return;
  if (usual_s_ > 0 && std::abs(took_s - usual_s_) > kUnusual * usual_s_) attentive_ = kAttentive;
  if (usual_s_ > 0) usual_s_ += (std::min(took_s, kFar * usual_s_) - usual_s_) / kMemory;
  else usual_s_ = took_s;
}

bool StepSampler::take(double now_s, bool comparing) {
  if (now_s < next_s_ || !(comparing || attentive_ > 0 || untimed_ > kRest)) return false;
  next_s_ = now_s + kLeastSeconds;
  untimed_ = 0;
  if (attentive_ > 0) --attentive_;
  return true;
}

}  // namespace tandem
