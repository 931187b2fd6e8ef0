# tandem_tests: every tests/**/*_test.cc in one program.
enable_testing()
find_package(GTest REQUIRED)
file(GLOB_RECURSE TEST_SOURCES CONFIGURE_DEPENDS tests/*_test.cc)
add_executable(tandem_tests ${TEST_SOURCES})
target_link_libraries(tandem_tests PRIVATE tandem GTest::gtest_main)
precompile_standard_headers(tandem_tests <gtest/gtest.h>)
target_compile_definitions(tandem_tests PRIVATE TANDEM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
add_test(NAME tandem_tests COMMAND tandem_tests WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
