# An overlay port of the checkout around it: vcpkg install levin --overlay-ports=<checkout>/packaging/vcpkg
# LibTorch is that of the Python in LEVIN_PYTHON (VCPKG_KEEP_ENV_VARS=LEVIN_PYTHON), or of .venv, since vcpkg's own is too old.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    "-DLEVIN_PYTHON=$ENV{LEVIN_PYTHON}"
    -DLEVIN_BUILD_TESTS=OFF
    -DLEVIN_BUILD_EXAMPLES=OFF
    -DLEVIN_BUILD_BENCHMARKS=OFF
    -DCMAKE_UNITY_BUILD=ON
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=12
  OPTIONS_DEBUG
    -DLEVIN_BUILD_PROGRAM=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/levin)
vcpkg_fixup_pkgconfig()
vcpkg_copy_tools(TOOL_NAMES levin AUTO_CLEAN)

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/bin" "${CURRENT_PACKAGES_DIR}/debug/bin" "${CURRENT_PACKAGES_DIR}/debug/include"
  "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
