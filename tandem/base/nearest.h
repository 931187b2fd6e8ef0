// Finds the name that was probably meant: for errors about unknown names.
#pragma once
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem {

/// Letters to add, leave out or change to make one of the other; capitals do not count.
inline std::size_t letters_apart(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t before = std::exchange(row[0], i);  // row i - 1, place j - 1
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same =
          std::tolower(static_cast<unsigned char>(a[i - 1])) == std::tolower(static_cast<unsigned char>(b[j - 1]));
      before = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, before + (same ? 0 : 1)}));
    }
  }
  return row[b.size()];
}

/// "; did you mean 'relu'?" when a known name is near enough, else nothing.
template <class Names>
std::string nearest_hint(std::string_view name, const Names& known) {
  std::string_view best;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const auto& one : known)
    if (const std::size_t apart = letters_apart(name, one); apart < least) least = apart, best = one;
  return best.empty() ? std::string() : "; did you mean '" + std::string(best) + "'?";
}

}  // namespace tandem
