// Einstein's sums of tensors in a model's file, as matrix products.
#include <algorithm>
#include <map>
#include <numeric>

#include "tandem/nn/keras_call.h"

namespace tandem {
namespace {

/// A tensor whose axes have letters.
struct Lettered {
  Tensor tensor;
  std::string letters;

  bool has(char letter) const { return letters.find(letter) != std::string::npos; }
  std::int64_t size(char letter) const { return tensor.shape()[static_cast<int>(letters.find(letter))]; }
};

Lettered ordered(const Lettered& x, const std::string& letters) {
  Ints order;
  for (const char letter : letters) order.push_back(static_cast<std::int64_t>(x.letters.find(letter)));
  return {letters == x.letters ? x.tensor : transpose(x.tensor, order), letters};
}

/// Without the axes that neither the result nor another operand has.
Lettered summed(const Lettered& x, const std::string& needed) {
  Ints axes;
  std::string left;
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    if (needed.find(x.letters[i]) == std::string::npos) axes.push_back(static_cast<std::int64_t>(i));
    else left += x.letters[i];
  }
  return axes.empty() ? x : Lettered{reduce_sum(x.tensor, axes), left};
}

/// Letters of both that stay are a batch; of both that go are summed over; the others are rows and columns.
Lettered multiplied(const Lettered& a, const Lettered& b, const std::string& needed) {
  std::string batch, inner, rows, columns;
  Ints sizes;
  for (const char letter : a.letters)
    (!b.has(letter) ? rows : needed.find(letter) == std::string::npos ? inner : batch) += letter;
  for (const char letter : b.letters)
    if (!a.has(letter)) columns += letter;
  const auto count = [](const Lettered& x, const std::string& letters) {
    return std::accumulate(letters.begin(), letters.end(), std::int64_t{1},
                           [&](std::int64_t n, char letter) { return n * x.size(letter); });
  };
  const auto matrix = [&](const Lettered& x, const std::string& first, const std::string& second) {
    return reshape(ordered(x, batch + first + second).tensor, Ints{count(x, batch), count(x, first), count(x, second)});
  };
  for (const char letter : batch + rows) sizes.push_back(a.size(letter));
  for (const char letter : columns) sizes.push_back(b.size(letter));
  const Tensor product = matmul(matrix(a, rows, inner), matrix(b, inner, columns));
  return {reshape(product, Shape(std::span<const std::int64_t>(sizes.data(), sizes.size()))), batch + rows + columns};
}

/// Axes of size 1 that others broadcast, named by "...", do not multiply as matrices: they are dropped, the others'
/// stay.
Lettered without_ones(Lettered x, const std::map<char, std::int64_t>& sizes) {
  Ints ones;
  std::string left;
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    const bool one = x.tensor.shape()[static_cast<int>(i)] == 1 && sizes.at(x.letters[i]) != 1;
    if (one) ones.push_back(static_cast<std::int64_t>(i));
    else left += x.letters[i];
  }
  return ones.empty() ? x : Lettered{squeeze(x.tensor, ones), left};
}

constexpr std::string_view kHidden = "01234567";  // for the axes of "...", the last one for the last axis

std::string spelled(const LayerConfig& config, std::string text, int rank) {
  const std::size_t dots = text.find("...");
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.'; };
  if (!std::ranges::all_of(text, is_letter)) config.refuse("axes are named by letters, got '", text, "'");
  if (dots != std::string::npos) {
    const auto hidden = static_cast<std::size_t>(std::max(0, rank - static_cast<int>(text.size()) + 3));
    text.replace(dots, 3, std::string(kHidden.substr(kHidden.size() - std::min(hidden, kHidden.size()))));
  }
  if (static_cast<int>(text.size()) != rank)
    config.refuse("'", text, "' names ", text.size(), " axes, the operand has ", rank);
  for (const char letter : text)
    if (std::ranges::count(text, letter) > 1)
      config.refuse("an operand that has a letter twice is not supported in C++, got '", text, "'");
  return text;
}

}  // namespace

Tensor einsum_of(const LayerConfig& config, std::string equation, const Tensors& operands) {
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  std::string left = equation.substr(0, arrow) + ",",
              result = arrow == std::string::npos ? "" : equation.substr(arrow + 2), hidden;
  std::vector<Lettered> rest;
  std::map<char, std::int64_t> sizes;
  for (std::size_t at = 0; at < left.size() && rest.size() < operands.size(); at = left.find(',', at) + 1) {
    const Tensor& x = operands[rest.size()];
    rest.push_back({x, spelled(config, left.substr(at, left.find(',', at) - at), x.rank())});
    for (const char letter : rest.back().letters) {
      std::int64_t& size = sizes.try_emplace(letter, 1).first->second;
      const std::int64_t own = rest.back().size(letter);
      if (own != size && own != 1 && size != 1)
        config.refuse("'", letter, "' has the sizes ", size, " and ", own, " in '", equation, "'");
      size = std::max(size, own);
      if (kHidden.find(letter) != std::string_view::npos && hidden.find(letter) == std::string::npos) hidden += letter;
    }
  }
  if (rest.size() != operands.size() || rest.empty() ||
      std::ranges::count(left, ',') != static_cast<std::ptrdiff_t>(operands.size()))
    config.refuse("'", equation, "' is not for ", operands.size(), " operands");
  std::ranges::sort(hidden);
  if (const std::size_t dots = result.find("..."); dots != std::string::npos) result.replace(dots, 3, hidden);
  if (arrow == std::string::npos) {
    result = hidden;
    for (const auto& [letter, size] : sizes)
      if (std::ranges::count(left, letter) == 1 && hidden.find(letter) == std::string::npos) result += letter;
  }
  for (const char letter : result)
    if (!sizes.count(letter)) config.refuse("'", letter, "' of the result is in no operand of '", equation, "'");
  for (Lettered& x : rest) x = without_ones(std::move(x), sizes);
  while (true) {
    std::string needed = result;
    for (std::size_t i = 2; i < rest.size(); ++i) needed += rest[i].letters;
    if (rest.size() == 1) return ordered(summed(rest[0], result), result).tensor;
    const auto [a, b] = promoted(rest[0].tensor, rest[1].tensor);
    const Lettered first = summed({a, rest[0].letters}, needed + rest[1].letters),
                   second = summed({b, rest[1].letters}, needed + rest[0].letters);
    rest[1] = multiplied(first, second, needed);
    rest.erase(rest.begin());
  }
}

Tensor tensordot_of(const Tensor& x, const Ints& axes_of_x, const Tensor& y, const Ints& axes_of_y) {
  if (axes_of_x.size() != axes_of_y.size())
    fail(ErrorCode::invalid_argument, "tensordot: as many axes of both are needed, got ", axes_of_x.size(), " and ",
         axes_of_y.size());
  Lettered a{x, {}}, b{y, {}};
  std::string result;
  char next = 'a';
  for (int i = 0; i < x.rank(); ++i) a.letters += next++;
  for (int i = 0; i < y.rank(); ++i) b.letters += next++;
  for (std::size_t i = 0; i < axes_of_x.size(); ++i) {
    const char letter = a.letters[static_cast<std::size_t>(axes_of_x[i])];
    b.letters[static_cast<std::size_t>(axes_of_y[i])] = letter;
    if (a.size(letter) != b.size(letter))
      fail(ErrorCode::shape_mismatch, "tensordot: the summed axes of ", x.shape(), " and ", y.shape(),
           " differ in size");
  }
  for (const char letter : a.letters)
    if (!b.has(letter)) result += letter;
  for (const char letter : b.letters)
    if (!a.has(letter)) result += letter;
  return ordered(multiplied(a, b, result), result).tensor;
}

}  // namespace tandem
