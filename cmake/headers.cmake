# A third of the time of a build goes into reading the standard library's headers: they are compiled once a target. In the library
# only headers that never change are among them; programs add what most of their files include. What a file needs it includes
# itself, so that it compiles without them too.
function(precompile_standard_headers target)
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <functional>
                            <map> <memory> <mutex> <optional> <span> <sstream> <string> <string_view> <unordered_map> <utility>
                            <vector> ${ARGN})
  target_compile_options(${target} PRIVATE -fpch-preprocess)  # as ccache needs it
endfunction()
