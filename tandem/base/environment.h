// Environment variables and other short texts from outside, read strictly: a value that makes no sense is an error
// that names where it came from, what it was and what form is needed.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// Nothing when the variable is not set; an empty text when it is set to nothing.
std::optional<std::string> environment(const char* name);

/// A whole number between `low` and `high`. `what` names the source: "TANDEM_CPU_THREADS".
long parse_number(std::string_view what, std::string_view text, long low, long high);
/// 0 or 1.
bool parse_switch(std::string_view what, std::string_view text);
/// "0,2-3": numbers of cores, sorted, each once.
std::vector<int> parse_cores(std::string_view what, std::string_view text);

/// The same for a variable; nothing when it is not set or empty.
std::optional<long> environment_number(const char* name, long low, long high);
std::optional<bool> environment_switch(const char* name);
std::vector<int> environment_cores(const char* name);

/// `text` cut at each `separator`, spaces around the parts removed. No parts in an empty text.
std::vector<std::string_view> split_words(std::string_view text, char separator);

}  // namespace tandem
