#include "tandem/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tandem/base/error.h"

namespace tandem {

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) fail(ErrorCode::file_error, "cannot open ", path_, ": ", std::strerror(errno));
  struct stat state{};
  const bool known = fstat(file_, &state) == 0;
  if (!known || !S_ISREG(state.st_mode)) {
    close(file_);
    fail(ErrorCode::file_error, path_, " is not a regular file");
  }
  size_ = static_cast<std::size_t>(state.st_size);
  if (size_ == 0) return;  // nothing can be mapped
  void* mapped = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file_, 0);
  if (mapped == MAP_FAILED) {
    const int problem = errno;
    close(file_);
    fail(ErrorCode::file_error, "cannot map ", path_, " into memory: ", std::strerror(problem));
  }
  address_ = mapped;
}

MappedFile::~MappedFile() {
  if (address_) munmap(address_, size_);
  close(file_);
}

void MappedFile::check_size() const {
  struct stat state{};
  if (fstat(file_, &state) != 0 || static_cast<std::size_t>(state.st_size) < size_)
    fail(ErrorCode::file_error, path_, " had ", size_, " bytes when it was opened and has ", state.st_size,
         " now; open it again");
}

}  // namespace tandem
