# What is missing or too old stops the configuration with one line that says what to install.
include("${SETTINGS}")
set(build "${WORK}/messages")
file(REMOVE_RECURSE "${build}")

# expect(line arguments...): the configuration of levin fails, and prints the line whole.
function(expect line)
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${build}" ${COMMON} ${ARGN}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(result EQUAL 0)
    message(FATAL_ERROR "The configuration with ${ARGN} did not fail")
  endif()
  if(NOT output MATCHES "\n *${line}[^\n]*\n")
    message(FATAL_ERROR "Not found: ${line}\nin:\n${output}")
  endif()
endfunction()

# The function that checks the compiler, with the compilers of other machines.
function(expect_compiler id version line)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -DCMAKE_CXX_COMPILER_ID=${id} -DCMAKE_CXX_COMPILER_VERSION=${version}
      -P "${SOURCE}/cmake/LevinCompiler.cmake"
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT output MATCHES "${line}" OR (line STREQUAL "" AND NOT result EQUAL 0))
    message(FATAL_ERROR "With ${id} ${version}: ${output}")
  endif()
endfunction()

expect_compiler(GNU 10.2.1 "levin needs g\\+\\+ 12, clang 14 or newer, and this compiler is GNU 10.2.1: apt-get install")
expect_compiler(Clang 13.0 "this compiler is Clang 13.0")
expect_compiler(GNU 12.2.0 "")
expect_compiler(Unheard 1.0 "")

expect("levin needs nlohmann_json 3.9 or newer: .*apt-get install nlohmann-json3-dev" -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON)
set(undo -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=OFF)
foreach(case "spdlog 1.8 libspdlog-dev" "CLI11 2.1 libcli11-dev" "ZLIB 1.2 zlib1g-dev" "PNG 1.6 libpng-dev"
    "TIFF 4.1 libtiff-dev" "LibArchive 3.4 libarchive-dev" "CURL 7.68 libcurl4-openssl-dev" "PCRE2 10.30 libpcre2-dev" "ICU 60 libicu-dev" "OpenSSL 1.1.1 libssl-dev")
  string(REPLACE " " ";" case "${case}")
  list(GET case 0 package)
  list(GET case 1 version)
  list(GET case 2 debian)
  expect("levin needs ${package} ${version} or newer: run scripts/setup, or apt-get install ${debian}"
    ${undo} -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
  set(undo -DCMAKE_DISABLE_FIND_PACKAGE_${package}=OFF)
endforeach()

foreach(case "JPEG libjpeg-dev" "WebP libwebp-dev")
  string(REPLACE " " ";" case "${case}")
  list(GET case 0 package)
  list(GET case 1 debian)
  expect("levin needs ${package}: run scripts/setup, or apt-get install ${debian}" ${undo} -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
  set(undo -DCMAKE_DISABLE_FIND_PACKAGE_${package}=OFF)
endforeach()

file(WRITE "${WORK}/old/lib/cmake/nlohmann_json/nlohmann_jsonConfig.cmake" "")
file(WRITE "${WORK}/old/lib/cmake/nlohmann_json/nlohmann_jsonConfigVersion.cmake" "set(PACKAGE_VERSION 3.5)\n")
expect("levin needs nlohmann_json 3.9 or newer .found: 3.5.: run" ${undo} "-DCMAKE_PREFIX_PATH=${WORK}/old" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF
  -DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF -Unlohmann_json_DIR)
set(undo -UCMAKE_PREFIX_PATH -UCMAKE_FIND_USE_CMAKE_SYSTEM_PATH -UCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH)

file(WRITE "${WORK}/old/share/cmake/Torch/TorchConfigVersion.cmake" "set(PACKAGE_VERSION 2.5.1)\n")
expect("levin needs LibTorch 2.6 or newer, and .*/Torch has version 2.5.1: run scripts/setup" ${undo}
  "-DTorch_DIR=${WORK}/old/share/cmake/Torch")
expect("LEVIN_PYTHON=.*/no-python cannot import torch: run " -UTorch_DIR "-DLEVIN_PYTHON=${WORK}/no-python")
find_program(true_program true REQUIRED)
expect("LEVIN_PYTHON=${true_program} cannot import torch" "-DLEVIN_PYTHON=${true_program}")

# Without any LibTorch: the module alone, outside of a checkout that may have one in .venv.
file(COPY "${SOURCE}/cmake" DESTINATION "${WORK}/bare")
file(WRITE "${WORK}/bare/locate.cmake" "include(${WORK}/bare/cmake/LevinLibTorch.cmake)\nlevin_locate_libtorch(config)\n")
execute_process(COMMAND "${CMAKE_COMMAND}" -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON -P "${WORK}/bare/locate.cmake"
  RESULT_VARIABLE result ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "levin needs LibTorch 2.6 or newer: run scripts/setup, or pass -DLEVIN_PYTHON=[^\n]*\n")
  message(FATAL_ERROR "Without a LibTorch: ${output}")
endif()

expect("levin needs Catch2 3 or newer: run scripts/setup, or apt-get install catch2" -ULEVIN_PYTHON
  "-DTorch_DIR=${LIBTORCH_CONFIG}" -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON)
