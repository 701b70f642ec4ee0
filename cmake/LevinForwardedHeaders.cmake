# For each header of forwarded_headers.txt one at its old path, which includes the new one: in the build's forwarded_include
# folder, and installed among the others. `levin_forwarded_headers`: the old paths.
set(levin_forwarded_headers)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/forwarded_headers.txt")
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/forwarded_headers.txt" rows REGEX "^[^#]")
foreach(row IN LISTS rows)
  string(REGEX MATCH "^([^ ]+) ([^ ]+)$" row "${row}")
  set(old "${CMAKE_MATCH_1}")
  set(new "${CMAKE_MATCH_2}")
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/forwarded_include/levin/${old}"
    CONTENT "#pragma once\n// It has moved.\n#include <levin/${new}>\n" @ONLY)
  list(APPEND levin_forwarded_headers "${old}")
endforeach()
