// A plain table for the terminal: aligned columns, long cells wrapped at spaces.
#pragma once
#include <iosfwd>
#include <string>
#include <vector>

namespace tandem::cli {

struct Column {
  std::string title;
  std::size_t most = 40;  // wider cells are wrapped
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// As many cells as columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void print(std::ostream& out) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// A number with so many digits that count.
std::string figure(double value, int digits = 4);

/// `text` in lines of at most `width` characters, broken at spaces and underscores where there are any.
std::vector<std::string> wrap(const std::string& text, std::size_t width);

}  // namespace tandem::cli
