# What a wheel holds finds LibTorch in the torch beside it, and no folder of the machine that built it. The wheel itself takes too
# long to build here: this is the configuration that pyproject.toml asks for.
include("${SETTINGS}")
get_filename_component(torch "${LIBTORCH_CONFIG}/../../.." ABSOLUTE)
if(NOT EXISTS "${torch}/version.py")
  message(STATUS "${torch} is not pip's torch, and a wheel is for no other")
  return()
endif()
set(build "${WORK}/wheel_build")
file(REMOVE_RECURSE "${build}")

configure("${SOURCE}" "${build}" "-DTorch_DIR=${LIBTORCH_CONFIG}" -DLEVIN_WHEEL=ON -DLEVIN_TIFF=OFF -DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_LIBDIR=lib
  -DLEVIN_BUILD_TESTS=OFF -DLEVIN_BUILD_EXAMPLES=OFF -DLEVIN_BUILD_BENCHMARKS=OFF)

# expect(file text): the file of the build has the text.
function(expect file text)
  file(READ "${build}/${file}" content)
  string(FIND "${content}" "${text}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "${build}/${file} has no ${text}")
  endif()
endfunction()

# expect_no_torch_of(file): nothing that is installed names the LibTorch of this machine.
function(expect_no_torch_of file)
  file(READ "${build}/${file}" content)
  string(FIND "${content}" "${torch}" position)
  if(NOT position EQUAL -1)
    message(FATAL_ERROR "${build}/${file} names ${torch}")
  endif()
endfunction()

expect(cmake_install.cmake "\\$ORIGIN/../lib:\\$ORIGIN/../../torch/lib")
expect(levin.pc "torch=\${prefix}/../torch")
expect(levinConfig.cmake "/../\${beside}/share/cmake/Torch")
foreach(file levin.pc levinConfig.cmake)
  expect_no_torch_of(${file})
endforeach()
file(STRINGS "${build}/cmake_install.cmake" rpaths REGEX "NEW_RPATH \"")
foreach(row IN LISTS rpaths)
  if(NOT row MATCHES "NEW_RPATH \".[$]ORIGIN/[./a-z]*:.[$]ORIGIN/../../torch/lib\"")
    message(FATAL_ERROR "An RPATH of the wheel: ${row}")
  endif()
endforeach()
# A wheel would hold a copy of the library for each name that is a link to it.
expect(build.ninja "SONAME = liblevin.so\n")
