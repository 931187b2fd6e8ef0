# tandem_tests: every tests/**/*_test.cc in one program.
enable_testing()
find_package(GTest REQUIRED)
file(GLOB_RECURSE TEST_SOURCES CONFIGURE_DEPENDS tests/*_test.cc)
add_executable(tandem_tests ${TEST_SOURCES})
target_link_libraries(tandem_tests PRIVATE tandem GTest::gtest_main)
precompile_standard_headers(tandem_tests <gtest/gtest.h>)
# For those that read the tree's files; the others compile to the same in every checkout, so that the compiler's cache serves them.
set_property(SOURCE tests/data/readers_test.cc tests/files/hdf5_test.cc tests/nn/model_file_test.cc tests/place/machine_test.cc
             tests/place/placer_test.cc APPEND PROPERTY COMPILE_DEFINITIONS TANDEM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
add_test(NAME tandem_tests COMMAND tandem_tests WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
