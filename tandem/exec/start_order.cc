#include "tandem/exec/start_order.h"

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace tandem {
namespace {

struct Key {
  bool deferred;  // the thread may have to wait for it, and no device for what comes of it
  double start;
  std::int32_t number;
  auto operator<=>(const Key&) const = default;
};

using Edges = std::vector<std::vector<std::int32_t>>;  // by item

/// By item: one for a device comes before it, along the edges.
std::vector<char> reached_from_devices(std::span<const StartItem> items, const Edges& edges) {
  std::vector<char> reached(items.size(), 0);
  std::vector<std::int32_t> open;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i].queue) open.insert(open.end(), edges[i].begin(), edges[i].end());
  while (!open.empty()) {
    const auto next = static_cast<std::size_t>(open.back());
    open.pop_back();
    if (items[next].queue || std::exchange(reached[next], 1)) continue;
    open.insert(open.end(), edges[next].begin(), edges[next].end());
  }
  return reached;
}

struct Queue {
  std::set<Key> left, ready;  // not started; of those, what has all its inputs
  std::size_t started = 0;
};

/// The next for a device that does not overtake another; without `in_turn` the first that can be started at all. A
/// device that has got nothing yet comes first, since it idles, whatever was predicted; devices whose next ones start
/// at once take turns, so that none waits until another has got all its work.
std::optional<Key> next_for(const std::map<const void*, Queue>& queues, bool in_turn) {
  const Queue* best = nullptr;
  const auto rank = [](const Queue& queue) {
    const Key& next = *queue.ready.begin();
    return std::tuple(queue.started > 0, next.start, queue.started, next.number);
  };
  for (const auto& [device, queue] : queues) {
    if (!device || queue.ready.empty() || (in_turn && *queue.ready.begin() != *queue.left.begin())) continue;
    if (!best || rank(queue) < rank(*best)) best = &queue;
  }
  return best ? std::optional(*best->ready.begin()) : std::nullopt;
}

}  // namespace

std::vector<std::int32_t> start_order(std::span<const StartItem> items) {
  Edges readers(items.size()), inputs;
  std::vector<std::size_t> missing(items.size());  // inputs that have not been started
  std::map<const void*, Queue> queues;
  Queue& thread = queues[nullptr];
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::int32_t input : items[i].inputs)
      readers[static_cast<std::size_t>(input)].push_back(static_cast<std::int32_t>(i));
    inputs.push_back(items[i].inputs);
  }
  const std::vector<char> waits = reached_from_devices(items, readers), awaited = reached_from_devices(items, inputs);
  const auto key = [&](std::size_t i) {
    return Key{waits[i] && !awaited[i], items[i].start, static_cast<std::int32_t>(i)};
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    missing[i] = items[i].inputs.size();
    queues[items[i].queue].left.insert(key(i));
    if (missing[i] == 0) queues[items[i].queue].ready.insert(key(i));
  }
  std::vector<std::int32_t> order;
  while (order.size() < items.size()) {
    std::optional<Key> next = next_for(queues, true);
    if (!next && !thread.ready.empty()) next = *thread.ready.begin();
    if (!next) next = next_for(queues, false);  // starts that contradict what comes before what
    const auto chosen = static_cast<std::size_t>(next->number);
    Queue& its = queues[items[chosen].queue];
    its.left.erase(*next);
    its.ready.erase(*next);
    ++its.started;
    order.push_back(next->number);
    for (std::int32_t reader : readers[chosen])
      if (const auto r = static_cast<std::size_t>(reader); --missing[r] == 0)
        queues[items[r].queue].ready.insert(key(r));
  }
  return order;
}

}  // namespace tandem
