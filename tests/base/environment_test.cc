#include "tandem/base/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tandem/base/error.h"

namespace tandem {
namespace {

std::string complaint_about(const char* value) {
  setenv("TANDEM_TEST_VARIABLE", value, 1);
  try {
    environment_cores("TANDEM_TEST_VARIABLE");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Environment, CoresAreNumbersAndRanges) {
  EXPECT_EQ(parse_cores("x", "0"), std::vector<int>{0});
  EXPECT_EQ(parse_cores("x", " 3, 0-1,1 "), (std::vector<int>{0, 1, 3}));
}

TEST(Environment, ABadValueIsNamedWithItsVariableAndTheFormNeeded) {
  for (const char* value : {"a", "0,", "3-1", "-1", "1-", "99999", "0x1", " ", "1.5", "0 1"}) {
    const std::string message = complaint_about(value);
    EXPECT_NE(message.find("TANDEM_TEST_VARIABLE='" + std::string(value) + "'"), std::string::npos) << message;
    EXPECT_NE(message.find("0,2-3"), std::string::npos) << message;
  }
}

TEST(Environment, NumbersKeepToTheirRange) {
  EXPECT_EQ(parse_number("x", "7", 0, 7), 7);
  for (const char* value : {"8", "-1", "", "seven", "7.0", "999999999999999999999"})
    EXPECT_THROW(parse_number("x", value, 0, 7), Error);
  EXPECT_TRUE(parse_switch("x", "1"));
  EXPECT_FALSE(parse_switch("x", "0"));
  for (const char* value : {"yes", "2", ""}) EXPECT_THROW(parse_switch("x", value), Error);
}

TEST(Environment, AVariableThatIsNotSetOrEmptySaysNothing) {
  unsetenv("TANDEM_TEST_VARIABLE");
  EXPECT_FALSE(environment_number("TANDEM_TEST_VARIABLE", 0, 9));
  setenv("TANDEM_TEST_VARIABLE", "", 1);
  EXPECT_FALSE(environment_number("TANDEM_TEST_VARIABLE", 0, 9));
  EXPECT_FALSE(environment_switch("TANDEM_TEST_VARIABLE"));
  EXPECT_TRUE(environment_cores("TANDEM_TEST_VARIABLE").empty());
}

}  // namespace
}  // namespace tandem
