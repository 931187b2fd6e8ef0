#include "tandem/backend/opencl/losses.h"

#include <algorithm>
#include <utility>

#include "tandem/core/fallible_space.h"

namespace tandem::opencl {

void Losses::depends(Command later, const Uses& earlier, const void* to) {
  if (earlier.uploaded) links_.push_back({later, {earlier.uploaded, true}, to});
  else if (earlier.written || to) links_.push_back({later, {earlier.written}, to});
}

Losses::Command Losses::arriving_at(const void* host) const {
  const auto found = std::find_if(links_.rbegin(), links_.rend(), [&](const Link& link) { return link.to == host; });
  return found == links_.rend() ? Command{} : found->later;
}

/// From the front, in order: while one is open, so may be those that depend on it.
void Losses::settle(std::uint64_t computed, std::uint64_t copied) {
  const auto looked_at = [&](const Command& command) { return command.number <= (command.copies ? copied : computed); };
  while (!links_.empty() && looked_at(links_.front().later) && looked_at(links_.front().earlier)) links_.pop_front();
  most_ = 4096 + 2 * links_.size();
}

void Losses::add(const std::vector<Command>& failed, ErrorCode code, std::string message) {
  constexpr std::size_t kMostRemembered = 1024;
  Lost lost{{failed.begin(), failed.end()}, code, std::move(message)};
  for (const Link& link : links_)
    if (lost.commands.contains(link.earlier)) lost.commands.insert(link.later);
  if (lost_.size() == kMostRemembered) lost_.pop_front();
  lost_.push_back(std::move(lost));
  note_device_loss();
}

bool Losses::has(const Uses& uses) const {
  return std::ranges::any_of(lost_, [&](const Lost& lost) {
    return lost.commands.contains({uses.written}) || lost.commands.contains({uses.uploaded, true});
  });
}

void Losses::throw_if_lost(Command command) {
  for (Lost& lost : lost_) {
    if (!lost.commands.contains(command)) continue;
    lost.reported = true;
    throw Error(lost.code, lost.message);
  }
}

void Losses::throw_if_lost(const Uses& uses) {
  if (lost_.empty()) [[likely]]
    return;
  throw_if_lost(Command{uses.written});
  throw_if_lost(Command{uses.uploaded, true});
}

void Losses::throw_unreported() {
  for (Lost& lost : lost_)
    if (!std::exchange(lost.reported, true)) throw Error(lost.code, lost.message);
}

}  // namespace tandem::opencl
