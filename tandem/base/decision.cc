#include "tandem/base/decision.h"

#include <mutex>
#include <ostream>
#include <unordered_map>

#include "tandem/base/error.h"

namespace tandem {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

/// Why the device, without the kernels.
std::string device_reason(const Decision& d) {
  switch (d.reason) {
    case ReasonCode::only_device: return text("the only device is ", d.device);
    case ReasonCode::requested:
      return d.requested.empty() ? "the placement policy asks for it" : text(d.requested, " was requested");
    case ReasonCode::device_missing: return text(d.requested, " was requested but does not exist here");
    case ReasonCode::not_visible: return text(d.requested, " was requested but is hidden from this program");
    case ReasonCode::device_lost: return text(d.requested, " was requested but has disappeared");
    case ReasonCode::no_kernel:
      if (d.requested.empty()) return text("elsewhere there is no kernel for ", d.signature);
      return text(d.requested, " was requested but has no kernel for ", d.signature);
    case ReasonCode::cheaper_here: return "it finishes first there";
    case ReasonCode::near_its_data: return "its data is there";
    case ReasonCode::too_small: return "too little work to pay for a launch or a copy elsewhere";
    case ReasonCode::sequential: return "its steps follow each other, and a step is fastest there";
    case ReasonCode::memory:
      return text(d.requested.empty() ? "the device it would run on otherwise" : d.requested,
                  " has not enough memory for it");
    case ReasonCode::contention: return "where it would be faster others are at work";
    case ReasonCode::colocated: return "it must be where another op is";
    case ReasonCode::host_value: return "made from host data";
  }
  return "";
}

}  // namespace

std::string_view reason_name(ReasonCode code) {
  switch (code) {
    case ReasonCode::only_device: return "only_device";
    case ReasonCode::requested: return "requested";
    case ReasonCode::device_missing: return "device_missing";
    case ReasonCode::not_visible: return "not_visible";
    case ReasonCode::device_lost: return "device_lost";
    case ReasonCode::no_kernel: return "no_kernel";
    case ReasonCode::cheaper_here: return "cheaper_here";
    case ReasonCode::near_its_data: return "near_its_data";
    case ReasonCode::too_small: return "too_small";
    case ReasonCode::sequential: return "sequential";
    case ReasonCode::memory: return "memory";
    case ReasonCode::contention: return "contention";
    case ReasonCode::colocated: return "colocated";
    case ReasonCode::host_value: return "host_value";
  }
  return "";
}

bool is_fallback(ReasonCode code) {
  switch (code) {
    case ReasonCode::device_missing:
    case ReasonCode::not_visible:
    case ReasonCode::device_lost:
    case ReasonCode::no_kernel:
    case ReasonCode::memory: return true;
    default: return false;
  }
}

std::string Decision::remedy() const {
  switch (reason) {
    case ReasonCode::device_missing:
      return "`tandem devices` lists the devices there are, and why others were turned down";
    case ReasonCode::not_visible:
      return "make it visible: config::set_visible_devices, or the variables TANDEM_VISIBLE_DEVICES and "
             "CUDA_VISIBLE_DEVICES";
    case ReasonCode::device_lost: return "restart the program; the system's log may say what happened to the device";
    case ReasonCode::no_kernel: {
      const bool refused = kernel.empty();  // nobody took it: `device` is the one that was asked for
      for (const Candidate& c : candidates)
        if ((refused || c.device != device) && c.refusal.find("float64") != std::string::npos)
          return "cast the operands to float32";
      return tandem::text("`tandem ops ", op, "` lists the dtypes each device has kernels for; cast, or ask for ",
                          refused ? "another device" : device);
    }
    case ReasonCode::memory:
      return "work on smaller pieces, drop tensors that are no longer needed, or raise the device's memory limit";
    default: return "";
  }
}

std::string Decision::text() const {
  std::string out = tandem::text(op, "(", signature, ") on ", device);
  if (!kernel.empty()) out += tandem::text(" by kernel ", kernel);
  out += tandem::text(": ", device_reason(*this));
  for (const Candidate& c : candidates)
    if (!c.accepted)
      out += tandem::text("; ", c.device == device ? "" : c.device + " ", c.kernel, " refused: ", c.refusal);
  return out;
}

std::string Decision::to_json() const {
  std::string out = tandem::text(
      "{\"op\": ", quoted(op), ", \"dtypes\": ", quoted(signature), ", \"requested\": ", quoted(requested),
      ", \"chosen\": ", quoted(device), ", \"kernel\": ", quoted(kernel), ", \"reason\": \"", reason_name(reason),
      "\", \"text\": ", quoted(text()), ", \"remedy\": ", quoted(remedy()), ", \"candidates\": [");
  const char* gap = "";
  for (const Candidate& c : candidates) {
    out += tandem::text(gap, "{\"device\": ", quoted(c.device), ", \"kernel\": ", quoted(c.kernel),
                        ", \"accepted\": ", c.accepted ? "true" : "false", ", \"refusal\": ", quoted(c.refusal), "}");
    gap = ", ";
  }
  return out + "]}";
}

std::ostream& operator<<(std::ostream& out, const Decision& decision) { return out << decision.text(); }

const Decision* intern(const Decision& decision) {
  // Never destroyed: tensors with static lifetime may still point into it when the process ends.
  static auto& mutex = *new std::mutex;
  static auto& table = *new std::unordered_multimap<std::string, const Decision*>;
  const std::string key = text(decision.op, '|', decision.signature, '|', decision.kernel, '|', decision.requested);
  std::lock_guard lock(mutex);
  auto [begin, end] = table.equal_range(key);
  for (auto it = begin; it != end; ++it)
    if (*it->second == decision) return it->second;
  return table.emplace(key, new Decision(decision))->second;
}

}  // namespace tandem
