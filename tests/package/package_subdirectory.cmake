# Configures a project that has levin as a subdirectory, and compiles its one file; levin itself is not built again.
include("${SETTINGS}")
set(build "${WORK}/subdirectory_build")
file(REMOVE_RECURSE "${build}")

configure("${CMAKE_CURRENT_LIST_DIR}/subdirectory" "${build}" "-DLEVIN_CHECKOUT=${SOURCE}" "-DTorch_DIR=${LIBTORCH_CONFIG}")
run("${CMAKE_COMMAND}" --build "${build}" --target app_objects)
file(GLOB_RECURSE objects RELATIVE "${build}" "${build}/*.o")
list(LENGTH objects count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "One object file was expected, and these came: ${objects}")
endif()

# What belongs to levin's own checkout is not forced upon the project around it.
foreach(unwanted bin test_main tests benchmarks)
  if(EXISTS "${build}/levin/${unwanted}" OR EXISTS "${build}/${unwanted}")
    message(FATAL_ERROR "levin as a subdirectory made ${unwanted}")
  endif()
endforeach()
