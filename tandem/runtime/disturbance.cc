#include "tandem/runtime/disturbance.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "tandem/base/text.h"

namespace tandem {
namespace {

constexpr double kMostWaited = 0.15;  // of the time: 0.00 to 0.04 are seen on a quiet machine, 0.3 and more beside one other program
constexpr double kMostApart = 1.3;    // processors change their frequency

std::string percent(double share) { return text(std::lround(100 * share), " %"); }

std::string milliseconds(double us) {
  std::ostringstream out;
  out << std::setprecision(3) << us / 1e3 << " ms";
  return out.str();
}

}  // namespace

void Disturbance::saw(const std::string& device, const CoreUse& use) {
  auto found = std::ranges::find(devices_, device, &std::pair<std::string, CoreUse>::first);
  if (found == devices_.end()) found = devices_.insert(found, {device, CoreUse{}});
  found->second += use;
}

void Disturbance::repeated(const std::string& device, double first_us, double again_us) {
  const auto [least, most] = std::minmax(first_us, again_us);
  if (most <= kMostApart * least) return;
  differences_.push_back(text("the same product on ", device, " took ", milliseconds(first_us), " and then ", milliseconds(again_us)));
}

std::optional<std::string> Disturbance::why() const {
  CoreUse all;
  for (const auto& [device, use] : devices_) all += use;
  const std::pair<std::string, CoreUse>* worst = nullptr;
  for (const auto& of_device : devices_) {
    // What a host took is counted in ticks too coarse for one device.
    if (of_device.second.wall_s <= 0 || of_device.second.waited_s <= kMostWaited * of_device.second.wall_s) continue;
    if (!worst || of_device.second.waited_s / of_device.second.wall_s > worst->second.waited_s / worst->second.wall_s) worst = &of_device;
  }
  if (worst)
    return text("other programs kept the cores busy: threads of ", worst->first, " waited ", percent(worst->second.waited_s / worst->second.wall_s),
                " of the time");
  if (all.stolen_s > kMostWaited * all.wall_s * all.cores)
    return text("the host of this virtual machine gave ", percent(all.stolen_s / (all.wall_s * all.cores)), " of the cores' time to others");
  if (!differences_.empty()) return text(join(differences_), ": others may be at work");
  return std::nullopt;
}

}  // namespace tandem
