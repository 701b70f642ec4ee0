# cmake -P: prints where the LibTorch is that a build of this checkout would find, and its version.
cmake_minimum_required(VERSION 3.22)
# Debian's folder of libraries, which CMake knows only once it has looked at a compiler.
cmake_host_system_information(RESULT machine QUERY OS_PLATFORM)
set(CMAKE_LIBRARY_ARCHITECTURE ${machine}-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/LevinLibTorch.cmake)
levin_locate_libtorch(config)
levin_libtorch_version(version "${config}")
execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "config=${config}")
execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "version=${version}")
