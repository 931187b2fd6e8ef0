// A cache folder for one test, in which programs are kept.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/text.h"

namespace tandem::opencl {

/// An environment variable with another value, or none, while this lives.
class Setting {
 public:
  Setting(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* now = std::getenv(name)) before_ = now;
    set(value);
  }
  ~Setting() { set(before_); }

 private:
  void set(const std::optional<std::string>& value) {
    if (value) setenv(name_, value->c_str(), 1);
    else unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

/// A cache folder for one test.
class OwnFolder {
 public:
  OwnFolder()
      : path_(std::filesystem::temp_directory_path() / text("tandem-opencl-own-", ::getpid())),
        folder_("TANDEM_CACHE_DIR", path_.string()),
        kept_("TANDEM_PROGRAM_CACHE", {}) {}
  ~OwnFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::vector<std::filesystem::path> programs() const {
    std::vector<std::filesystem::path> files;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(path_ / "opencl", missing))
      files.push_back(entry.path());
    return files;
  }

 private:
  std::filesystem::path path_;
  Setting folder_, kept_;
};

}  // namespace tandem::opencl
