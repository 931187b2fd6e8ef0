#include "tandem/exec/start_order.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tandem {
namespace {

using Key = std::pair<double, std::int32_t>;  // start, number

struct Queue {
  std::set<Key> left, ready;  // not started; of those, what has all its inputs
};

/// The next for a device that does not overtake another; without `in_turn` the first that can be started at all.
std::optional<Key> next_for(const std::map<const void*, Queue>& queues, bool in_turn) {
  std::optional<Key> best;
  for (const auto& [device, queue] : queues) {
    if (!device || queue.ready.empty() || (in_turn && *queue.ready.begin() != *queue.left.begin())) continue;
    if (!best || *queue.ready.begin() < *best) best = *queue.ready.begin();
  }
  return best;
}

}  // namespace

std::vector<std::int32_t> start_order(std::span<const StartItem> items) {
  std::vector<std::vector<std::int32_t>> readers(items.size());
  std::vector<std::size_t> waits(items.size());
  std::map<const void*, Queue> queues;
  Queue& thread = queues[nullptr];
  const auto key = [&](std::size_t i) { return Key{items[i].start, static_cast<std::int32_t>(i)}; };
  for (std::size_t i = 0; i < items.size(); ++i) {
    waits[i] = items[i].inputs.size();
    queues[items[i].queue].left.insert(key(i));
    if (waits[i] == 0) queues[items[i].queue].ready.insert(key(i));
    for (std::int32_t input : items[i].inputs) readers[static_cast<std::size_t>(input)].push_back(static_cast<std::int32_t>(i));
  }
  std::vector<std::int32_t> order;
  while (order.size() < items.size()) {
    std::optional<Key> next = next_for(queues, true);
    if (!next && !thread.ready.empty()) next = *thread.ready.begin();
    if (!next) next = next_for(queues, false);  // starts that contradict what comes before what
    const auto chosen = static_cast<std::size_t>(next->second);
    queues[items[chosen].queue].left.erase(*next);
    queues[items[chosen].queue].ready.erase(*next);
    order.push_back(next->second);
    for (std::int32_t reader : readers[chosen])
      if (const auto r = static_cast<std::size_t>(reader); --waits[r] == 0) queues[items[r].queue].ready.insert(key(r));
  }
  return order;
}

}  // namespace tandem
