#include "tandem/exec/start_order.h"

#include <set>
#include <tuple>

namespace tandem {

std::vector<std::int32_t> start_order(std::span<const StartItem> items) {
  std::vector<std::vector<std::int32_t>> readers(items.size());
  std::vector<std::size_t> waits(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    waits[i] = items[i].inputs.size();
    for (std::int32_t input : items[i].inputs) readers[static_cast<std::size_t>(input)].push_back(static_cast<std::int32_t>(i));
  }
  using Key = std::tuple<double, bool, std::int32_t>;
  std::set<Key> ready;
  const auto add = [&](std::size_t i) { ready.insert({items[i].start, items[i].blocks, static_cast<std::int32_t>(i)}); };
  for (std::size_t i = 0; i < items.size(); ++i)
    if (waits[i] == 0) add(i);
  std::vector<std::int32_t> order;
  while (!ready.empty()) {
    const std::int32_t next = std::get<2>(*ready.begin());
    ready.erase(ready.begin());
    order.push_back(next);
    for (std::int32_t reader : readers[static_cast<std::size_t>(next)])
      if (--waits[static_cast<std::size_t>(reader)] == 0) add(static_cast<std::size_t>(reader));
  }
  return order;
}

}  // namespace tandem
