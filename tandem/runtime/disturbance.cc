#include "tandem/runtime/disturbance.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "tandem/base/text.h"

namespace tandem {
namespace {

constexpr double kMostApart = 1.3;  // processors change their frequency

std::string percent(double share) { return text(std::lround(100 * share), " %"); }

std::string milliseconds(double us) {
  std::ostringstream out;
  out << std::setprecision(3) << us / 1e3 << " ms";
  return out.str();
}

}  // namespace

void Disturbance::saw(const std::string& device, const CoreUse& use) {
  auto found = std::ranges::find(devices_, device, &Span::device);
  if (found == devices_.end()) found = devices_.insert(found, {.device = device});
  found->wall_s += use.wall_s;
  found->others_s += use.others_share() * use.wall_s;
}

void Disturbance::repeated(const std::string& device, std::vector<double> us) {
  if (us.size() < 2) return;
  std::ranges::sort(us);
  if (us[1] <= kMostApart * us[0]) return;  // seen twice, it is what the device can do
  differences_.push_back(
      text("the same product on ", device, " took ", milliseconds(us[0]), " once and then ", milliseconds(us[1])));
}

std::optional<std::string> Disturbance::why() const {
  const auto share = [](const Span& span) { return span.wall_s > 0 ? span.others_s / span.wall_s : 0; };
  const auto worst = std::ranges::max_element(devices_, {}, share);
  if (worst != devices_.end() && share(*worst) > CoreUse::kMostOthers)
    return text("other programs kept the cores busy: threads of ", worst->device, " waited ",
                percent(std::min(1.0, share(*worst))), " of the time");
  if (!differences_.empty()) return text(join(differences_), ": others may be at work");
  return std::nullopt;
}

}  // namespace tandem
