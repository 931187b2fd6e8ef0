#include "tandem/core/device.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "tandem/base/error.h"

namespace tandem {
namespace {

[[noreturn]] void not_a_device(std::string_view text) {
  fail(ErrorCode::unknown_device, "'", text,
       "' is not a device name; write \"/CPU:0\", \"/GPU:1\", \"/device:GPU:0\" or "
       "\"/job:localhost/replica:0/task:0/device:GPU:0\"");
}

/// As TensorFlow reads it: blanks around it and any number of digits. There is no device with a very large one.
int parse_index(std::string_view digits, std::string_view whole) {
  constexpr int kLargest = 999'999'999;
  while (!digits.empty() && std::isspace(static_cast<unsigned char>(digits.front()))) digits.remove_prefix(1);
  while (!digits.empty() && std::isspace(static_cast<unsigned char>(digits.back()))) digits.remove_suffix(1);
  if (digits.empty()) not_a_device(whole);
  std::int64_t value = 0;
  for (char c : digits) {
    if (!std::isdigit(static_cast<unsigned char>(c))) not_a_device(whole);
    value = std::min<std::int64_t>(value * 10 + (c - '0'), kLargest);
  }
  return static_cast<int>(value);
}

std::string upper(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

bool is_kind(const std::string& kind) { return kind == "CPU" || kind == "GPU" || kind == "TPU"; }

/// "GPU:1", "gpu", "GPU:*": the kind and index of a device. Behind "device:" any word is a kind, which may be missing
/// here.
DeviceName parse_kind(std::string_view part, std::string_view whole, bool any_kind) {
  const std::size_t colon = part.find(':');
  DeviceName name;
  name.kind = upper(part.substr(0, colon));
  if (name.kind.empty()) not_a_device(whole);
  for (char c : name.kind)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') not_a_device(whole);
  if (!any_kind && !is_kind(name.kind))
    fail(ErrorCode::unknown_device, "Unknown attribute '", part.substr(0, colon),
         "' is encountered while parsing the device spec: '", whole,
         "'. Write \"/CPU:0\", \"/GPU:1\", \"/device:GPU:0\" or \"/job:localhost/replica:0/task:0/device:GPU:0\".");
  if (colon == std::string_view::npos || part.substr(colon) == ":*") return name;
  name.index = parse_index(part.substr(colon + 1), whole);
  return name;
}

/// "job:localhost", "replica:0" and "task:0" name this process, as "*" does.
bool names_this_process(std::string_view part, std::string_view whole) {
  for (const auto& [attribute, here] : {std::pair{"job:", "localhost"}, {"replica:", "0"}, {"task:", "0"}}) {
    if (!part.starts_with(attribute)) continue;
    const std::string_view value = part.substr(std::string_view(attribute).size());
    if (value != here && value != "*")
      fail(ErrorCode::unknown_device, whole, " unknown device: this process is /job:localhost/replica:0/task:0");
    return true;
  }
  return false;
}

}  // namespace

std::string DeviceName::short_name() const { return "/" + kind + ":" + std::to_string(index); }

std::string DeviceName::long_name() const {
  return "/job:localhost/replica:0/task:0/device:" + kind + ":" + std::to_string(index);
}

std::optional<DeviceName> DeviceName::parse_request(std::string_view text) {
  std::optional<DeviceName> name;
  bool named = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t slash = std::min(text.find('/', begin), text.size());
    std::string_view part = text.substr(begin, slash - begin);
    begin = slash + 1;
    if (part.empty() || names_this_process(part, text)) continue;
    const bool any_kind = part.starts_with("device:");
    if (any_kind) part.remove_prefix(7);
    if (named)
      fail(ErrorCode::unknown_device, "Multiple device types are not allowed while parsing the device spec: ", text,
           ".");
    named = true;
    if (any_kind && part.starts_with("*:")) continue;  // any kind: it asks for nothing
    name = parse_kind(part, text, any_kind);
  }
  return name;
}

DeviceName DeviceName::parse(std::string_view text) {
  const auto name = parse_request(text);
  if (!name) not_a_device(text);
  return *name;
}

void* MemorySpace::try_allocate(std::size_t bytes, Purpose) {
  try {
    return allocate(bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return nullptr;
  }
}

void* MemorySpace::slice(void* address, std::size_t offset, std::size_t) {
  return static_cast<char*>(address) + offset;
}
void MemorySpace::free_slice(void*) noexcept {}

}  // namespace tandem
