// Bytes as a file that has a path but lies in memory: for readers that open files themselves.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace tandem::fuzz {

class InFile {
 public:
  explicit InFile(std::string_view bytes) : number_(memfd_create("input", MFD_CLOEXEC)) {
    if (number_ < 0 || ::write(number_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      __builtin_trap();
  }
  ~InFile() { ::close(number_); }
  InFile(const InFile&) = delete;
  InFile& operator=(const InFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  int number_;
};

}  // namespace tandem::fuzz
