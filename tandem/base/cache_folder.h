// Where what can be made again is kept from one process to the next.
#pragma once
#include <filesystem>
#include <string_view>

namespace tandem {

/// $TANDEM_CACHE_DIR/part, else $XDG_CACHE_HOME or ~/.cache and tandem/part. The folder need not exist.
std::filesystem::path cache_folder(std::string_view part);

}  // namespace tandem
