#include "tandem/cli/table.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <sstream>

namespace tandem::cli {
namespace {

using Lines = std::vector<std::string>;

void print_line(std::ostream& out, const Lines& cells, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += cells[i];
    line.append(widths[i] - cells[i].size() + 2, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << "\n";
}

}  // namespace

std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  Lines lines;
  std::size_t at = 0;
  while (text.size() - at > width) {
    std::size_t end = text.find_last_of(" _", at + width);
    if (end == std::string::npos || end <= at) end = at + width;
    else if (text[end] == '_') end = std::min(end + 1, at + width);  // the line keeps its underscore
    lines.push_back(text.substr(at, end - at));
    at = text[end] == ' ' ? end + 1 : end;
  }
  lines.push_back(text.substr(at));
  return lines;
}

void Table::print(std::ostream& out) const {
  std::vector<std::vector<Lines>> wrapped;  // [row][column][line]
  std::vector<std::size_t> widths;
  Lines titles;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    widths.push_back(column.title.size());
  }
  for (const auto& row : rows_) {
    auto& cells = wrapped.emplace_back();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      cells.push_back(wrap(row[i], columns_[i].most));
      for (const std::string& line : cells.back()) widths[i] = std::max(widths[i], line.size());
    }
  }
  print_line(out, titles, widths);
  for (const auto& cells : wrapped) {
    std::size_t height = 0;
    for (const Lines& lines : cells) height = std::max(height, lines.size());
    for (std::size_t k = 0; k < height; ++k) {
      Lines line;
      for (const Lines& lines : cells) line.push_back(k < lines.size() ? lines[k] : "");
      print_line(out, line, widths);
    }
  }
}

std::string figure(double value, int digits) {
  std::ostringstream out;
  if (std::abs(value) >= std::pow(10, digits)) out << std::fixed << std::setprecision(0) << value;  // no exponent
  else out << std::setprecision(digits) << value;
  return out.str();
}

}  // namespace tandem::cli
