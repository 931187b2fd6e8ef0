#include "tandem/core/link.h"

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "tandem/base/error.h"
#include "tandem/core/transfer_count.h"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

struct Link {
  double latency = 0;           // seconds
  double seconds_per_byte = 0;
  bool mirrored = false;        // stands for the other direction, which was not given
  Clock::time_point free = {};  // when the last copy has arrived
};
using Direction = std::pair<std::string, std::string>;
using Links = std::map<Direction, Link>;

[[noreturn]] void bad_link(std::string_view item, std::string_view needed) {
  fail(ErrorCode::invalid_argument, "TANDEM_LINK: '", item, "' ", needed,
       "; a link is written as \"/CPU:0>/GPU:0:latency_us=10,gb_per_s=2\"");
}

void set_property(Link& link, std::string_view item) {
  const std::size_t equals = item.find('=');
  if (equals == item.npos) bad_link(item, "is no property: latency_us=… or gb_per_s=… is needed");
  const std::string_view name = item.substr(0, equals), digits = item.substr(equals + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !(value >= 0))
    bad_link(item, "has no number of 0 or more");
  if (name == "latency_us") {
    link.latency = value * 1e-6;
  } else if (name == "gb_per_s") {
    if (value == 0) bad_link(item, "would let nothing through");
    link.seconds_per_byte = 1e-9 / value;
  } else {
    bad_link(item, "is no property: latency_us=… or gb_per_s=… is needed");
  }
}

std::string end_of_link(std::string_view device, std::string_view item) {
  try {
    return DeviceName::parse(device).short_name();
  } catch (const Error&) {
    bad_link(item, text("leads to or from '", device, "', which is no device"));
  }
}

/// "/CPU:0>/GPU:0:latency_us=10": the link, with its first property.
Link& add_link(Links& links, std::string_view item) {
  const std::size_t arrow = item.find('>');
  const std::size_t number = item.find(':', arrow), end = number == item.npos ? number : item.find(':', number + 1);
  if (end == item.npos) bad_link(item, "lacks a property behind the devices");
  const std::string from = end_of_link(item.substr(0, arrow), item);
  const std::string to = end_of_link(item.substr(arrow + 1, end - arrow - 1), item);
  if (from == to) bad_link(item, "leads from a device to itself");
  Link& link = links[{from, to}] = {};
  if (const auto [other, added] = links.try_emplace({to, from}); added) other->second.mirrored = true;
  set_property(link, item.substr(end + 1));
  return link;
}

Links parse_links(std::string_view text) {
  Links links;
  Link* link = nullptr;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find_first_of(",;"));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (item.find('>') != item.npos) link = &add_link(links, item);
    else if (link) set_property(*link, item);
    else bad_link(item, "names no devices");
  }
  for (auto& [direction, other] : links)
    if (other.mirrored) {
      const Link& given = links.at({direction.second, direction.first});
      other.latency = given.latency;
      other.seconds_per_byte = given.seconds_per_byte;
    }
  return links;
}

struct State {
  std::mutex mutex;
  Links links;
  std::string said;
  std::atomic<bool> any{false};
  State() { set(std::getenv("TANDEM_LINK") ? std::getenv("TANDEM_LINK") : ""); }
  void set(std::string_view text) {
    Links parsed = parse_links(text);
    std::lock_guard lock(mutex);
    links = std::move(parsed);
    said = text;
    any = !links.empty();
  }
};
State& state() {
  static State& state = *new State;
  return state;
}

thread_local Clock::time_point arrival{};

std::string name_of(const MemorySpace& space) { return space.is_host() ? "/CPU:0" : std::string(space.name()); }

}  // namespace

void set_links(std::string_view links) { state().set(links); }

std::string links() {
  std::lock_guard lock(state().mutex);
  return state().said;
}

void cross_link(const MemorySpace& from, const MemorySpace& to, std::size_t bytes) {
  if (!state().any.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(state().mutex);
  const auto found = state().links.find({name_of(from), name_of(to)});
  if (found == state().links.end()) return;
  Link& link = found->second;
  const double seconds = link.latency + static_cast<double>(bytes) * link.seconds_per_byte;
  link.free = std::max(link.free, Clock::now()) +
              std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  arrival = std::max(arrival, link.free);
  if (UncountedTransfers::now()) return;
  add_transfer_time(to.is_host() ? Transfer::to_host : Transfer::to_device, static_cast<std::uint64_t>(seconds * 1e9));
}

void await_links() {
  if (arrival == Clock::time_point{}) return;
  std::this_thread::sleep_until(arrival);
  arrival = {};
}

}  // namespace tandem
