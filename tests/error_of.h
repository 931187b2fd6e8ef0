// What a call complains about.
#pragma once
#include <functional>
#include <string>

#include "tandem/base/error.h"

namespace tandem {

inline std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tandem
