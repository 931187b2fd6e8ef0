#include "tandem/files/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tandem/base/error.h"

namespace tandem {
namespace {

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, mode_t mode = 0)
      : number_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }
  int close() {
    const int result = number_ >= 0 ? ::close(number_) : 0;
    number_ = -1;
    return result;
  }

 private:
  int number_;
};

[[noreturn]] void cannot(const char* what, const std::string& path, int error) {
  fail(ErrorCode::file_error, "cannot ", what, " ", path, ": ", std::strerror(error));
}

/// The file a link stands for: the link itself stays.
std::string target_of(const std::string& path) {
  std::error_code error;
  const auto resolved = std::filesystem::is_symlink(path, error) ? std::filesystem::weakly_canonical(path, error)
                                                                 : std::filesystem::path(path);
  return error ? path : resolved.string();
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// The permissions that `path` has, or a new file would get.
mode_t mode_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) return status.st_mode & 07777;
  return 0666;
}

void write_new(const std::string& temporary, const std::string& path, std::string_view bytes) {
  Descriptor file(temporary, O_WRONLY | O_CREAT | O_EXCL, mode_of(path));
  if (!file.valid()) cannot("write", path, errno);
  if (!write_all(file.get(), bytes) || ::fsync(file.get()) != 0 || file.close() != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    cannot("write", path, error);
  }
}

/// A name is on the disk only when its folder is.
void flush_folder(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  const Descriptor opened(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY);
  // Some file systems cannot flush a folder; the file itself is safe either way.
  if (opened.valid()) (void)::fsync(opened.get());
}

}  // namespace

std::string read_file(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
  if (!file.valid()) cannot("open", path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) cannot("read", path, errno);
  if (!S_ISREG(status.st_mode)) fail(ErrorCode::file_error, path, " is not a regular file");
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t count = ::read(file.get(), bytes.data() + got, bytes.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot("read", path, errno);
    if (count == 0) break;  // it became shorter meanwhile
    got += static_cast<std::size_t>(count);
  }
  bytes.resize(got);
  return bytes;
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  static std::atomic<unsigned> counter{0};
  const std::string target = target_of(path);
  const std::string temporary = text(target, ".", ::getpid(), ".", counter++, ".tmp");
  write_new(temporary, target, bytes);
  if (::rename(temporary.c_str(), target.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    cannot("write", path, error);
  }
  flush_folder(target);
}

}  // namespace tandem
