// Whole files: read into memory, and written so that a kill at any moment leaves the old file or the new one.
#pragma once
#include <string>
#include <string_view>

namespace tandem {

/// Throws file_error when it cannot be read or is no regular file.
std::string read_file(const std::string& path);

/// Writes beside `path`, waits for the disk, and takes the name over. Throws file_error; then `path` is as it was.
void write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace tandem
