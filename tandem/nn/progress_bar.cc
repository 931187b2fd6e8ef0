#include "tandem/nn/progress_bar.h"

#include <cmath>
#include <cstdio>

#include "tandem/base/text.h"

namespace tandem {
namespace {

constexpr int kBarWidth = 20;
constexpr const char *kBold = "\x1b[1m", *kGreen = "\x1b[32m", *kGrey = "\x1b[37m", *kEnd = "\x1b[0m";

std::string printed(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

std::string speed_text(double seconds) {
  if (seconds >= 1 || seconds == 0) return printed("%.0fs/step", seconds);
  if (seconds >= 1e-3) return printed("%.0fms/step", seconds * 1e3);
  return printed("%.0fus/step", seconds * 1e6);
}

/// The time that is left: "1:02:03", "2:05" or "12s".
std::string time_text(double seconds) {
  const auto total = static_cast<long>(seconds);
  char buffer[32];
  if (total > 3600)
    std::snprintf(buffer, sizeof buffer, "%ld:%02ld:%02ld", total / 3600, total % 3600 / 60, total % 60);
  else if (total > 60) std::snprintf(buffer, sizeof buffer, "%ld:%02ld", total / 60, total % 60);
  else std::snprintf(buffer, sizeof buffer, "%lds", total);
  return buffer;
}

std::string repeated(const char* piece, std::int64_t count) {
  std::string out;
  for (std::int64_t i = 0; i < count; ++i) out += piece;
  return out;
}

}  // namespace

std::string metrics_text(const std::map<std::string, double>& values) {
  std::string out;
  for (const auto& [name, value] : values)
    out += " - " + name + ": " + printed(std::abs(value) > 1e-3 ? "%.4f" : "%.4e", value);
  return out;
}

ProgressBar::ProgressBar(int verbose, std::int64_t steps) : verbose_(verbose), steps_(steps) {}

/// Without the first steps, which prepare things, as soon as there are others.
double ProgressBar::step_seconds(std::int64_t done) {
  const auto now = Clock::now();
  const auto seconds = [&](Clock::time_point from) { return std::chrono::duration<double>(now - from).count(); };
  if (first_ == 0) {
    first_ = done;
    after_first_ = now;
  }
  return done > first_ ? seconds(after_first_) / static_cast<double>(done - first_)
         : done > 0    ? seconds(start_) / static_cast<double>(done)
                       : 0;
}

void ProgressBar::show(std::int64_t done, const std::map<std::string, double>& values) {
  if (verbose_ == 1) draw(done, values, false);
}

void ProgressBar::finish(std::int64_t done, const std::map<std::string, double>& values) {
  if (verbose_ == 1) draw(done, values, true);
  if (verbose_ != 2) return;
  const double total = std::chrono::duration<double>(Clock::now() - start_).count();
  std::printf("%s\n", text(done, "/", done, " - ", printed("%.0fs", total), " - ", speed_text(step_seconds(done)),
                           metrics_text(values))
                          .c_str());
  std::fflush(stdout);
}

void ProgressBar::draw(std::int64_t done, const std::map<std::string, double>& values, bool last) {
  const double each = step_seconds(done), total = std::chrono::duration<double>(Clock::now() - start_).count();
  const std::int64_t goal = steps_ < 0 && last ? done : steps_;
  const std::string clock =
      last || goal < 0 ? printed("%.0fs", total) : time_text(each * static_cast<double>(goal - done));
  std::string head, plain;  // with and without colours
  if (goal >= 0) {
    const std::string target = std::to_string(goal);
    std::string counter = std::to_string(done) + "/" + target;
    counter.insert(0, target.size() * 2 + 1 - counter.size(), ' ');
    const std::int64_t filled = goal > 0 ? kBarWidth * done / goal : kBarWidth;
    head = text(kBold, counter, kEnd, " ", filled ? text(kGreen, repeated("━", filled), kEnd) : "", kGrey,
                repeated("━", kBarWidth - filled), kEnd);
    plain = counter + " " + std::string(kBarWidth, '-');
  } else {
    head = plain = text(done, "/Unknown");
  }
  const std::string rest = " " + speed_text(each) + metrics_text(values);
  const std::size_t width = plain.size() + 1 + clock.size() + rest.size();
  const std::string blank(width_ > width ? width_ - width : 0, ' ');
  std::printf("\r%s %s%s%s%s%s%s", head.c_str(), kBold, clock.c_str(), kEnd, rest.c_str(), blank.c_str(),
              last ? "\n" : "");
  std::fflush(stdout);
  width_ = width;
}

}  // namespace tandem
