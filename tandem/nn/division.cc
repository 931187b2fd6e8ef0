#include "tandem/nn/division.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "tandem/dist/forecast.h"
#include "tandem/nn/compiled_model.h"
#include "tandem/op/dispatcher.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

/// The best of some runs; the first traces and copies variables.
double seconds_on(const std::string& device, const Function& gradients, const Tensors& batch) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 4;
  const DeviceScope on(device);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRounds; ++i) {
    const auto begin = Clock::now();
    gradients.call(batch);
    sync();
    if (i > 0) best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

}  // namespace

void Division::begin(const Tensors& batch) {
  const MirroredStrategy& strategy = *model_.strategy();
  const auto kind = [&] { return text(join(strategy.devices()), " ", batch.empty() ? -1 : batch[0].shape()[0]); };
  if (strategy.adapts() && !own_steps_ && (!tuner_ || kind() != kind_)) {
    std::optional<std::pair<double, std::string>> single;
    if (!batch.empty()) single = measure(batch);  // a device may leave
    tuner_ = std::make_unique<Tuner>(strategy.division());
    if (single) tuner_->set_single(single->first, single->second);
  }
  if (!strategy.adapts() || own_steps_) tuner_ = nullptr;
  devices_ = join(strategy.devices());
  kind_ = kind();
}

std::pair<double, std::string> Division::measure(const Tensors& batch) {
  const MirroredStrategy& strategy = *model_.strategy();
  const Function gradients([this](const Tensors& arrays) { return model_.gradients(arrays); },
                           FunctionOptions{.name = "speed"});
  for (;;) try {
      std::vector<double> speeds;
      std::pair<double, std::string> fastest(std::numeric_limits<double>::infinity(), "");
      for (const std::string& device : strategy.devices()) {
        const double seconds = seconds_on(device, gradients, batch);
        speeds.push_back(static_cast<double>(batch[0].shape()[0]) / seconds);
        fastest = std::min(fastest, {seconds, device});
      }
      strategy.division()->take_measured(speeds);
      strategy.division()->note_alone(fastest.first);
      return fastest;
    } catch (const Error& error) {
      if (const auto group = strategy.device_group(); !group || !group->leave(error))
        throw;  // that of a device: it leaves
    }
}

double Division::stretch() const { return tuner_ ? Tuner::kStretch : std::numeric_limits<double>::infinity(); }

void Division::note(std::int64_t steps, double seconds) {
  if (tuner_ && join(model_.strategy()->devices()) != devices_) tuner_ = nullptr;
  if (!tuner_ || tuner_->note(steps, seconds)) return;
  tell_slower(model_.strategy()->devices(), tuner_->slower_together());
}

}  // namespace tandem
