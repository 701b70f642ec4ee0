# find_package(PCRE2): the library for 8-bit text as PCRE2::8BIT, which Debian has without a package for CMake.
find_path(PCRE2_INCLUDE_DIR pcre2.h)
find_library(PCRE2_LIBRARY pcre2-8)
if(PCRE2_INCLUDE_DIR)
  file(STRINGS "${PCRE2_INCLUDE_DIR}/pcre2.h" levin_pcre2_lines REGEX "^#define PCRE2_(MAJOR|MINOR) +[0-9]+")
  string(REGEX REPLACE ".*PCRE2_MAJOR +([0-9]+).*PCRE2_MINOR +([0-9]+).*" "\\1.\\2" PCRE2_VERSION "${levin_pcre2_lines}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PCRE2 REQUIRED_VARS PCRE2_LIBRARY PCRE2_INCLUDE_DIR VERSION_VAR PCRE2_VERSION)
mark_as_advanced(PCRE2_INCLUDE_DIR PCRE2_LIBRARY)
if(PCRE2_FOUND AND NOT TARGET PCRE2::8BIT)
  add_library(PCRE2::8BIT UNKNOWN IMPORTED)
  set_target_properties(PCRE2::8BIT PROPERTIES
    IMPORTED_LOCATION "${PCRE2_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${PCRE2_INCLUDE_DIR}")
endif()
