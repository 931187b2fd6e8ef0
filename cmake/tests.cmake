# tandem_tests: every tests/**/*_test.cc in one program.
enable_testing()
find_package(GTest REQUIRED)
file(GLOB_RECURSE TEST_SOURCES CONFIGURE_DEPENDS tests/*_test.cc)
add_executable(tandem_tests ${TEST_SOURCES})
target_link_libraries(tandem_tests PRIVATE tandem GTest::gtest_main)
# Half of the tests include the whole library, the others a good part of it.
precompile_standard_headers(tandem_tests <gtest/gtest.h> <tandem/tandem.h>)
target_compile_options(tandem_tests PRIVATE -O1)  # the library is what should be fast; compiling tests takes a third less
# For those that read the tree's files; the others compile to the same in every checkout, so that the compiler's cache serves them.
foreach(source ${TEST_SOURCES})
  file(STRINGS ${source} reads_files REGEX TANDEM_SOURCE_DIR)
  if(reads_files)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS TANDEM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  endif()
endforeach()
add_test(NAME tandem_tests COMMAND tandem_tests WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
