# The libraries levin stands on. Each that is missing stops the configuration with a line that says what to install.

find_package(Torch REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)
find_package(spdlog 1.8 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(ZLIB REQUIRED)

add_library(levin_torch INTERFACE)
target_include_directories(levin_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(levin_torch INTERFACE ${TORCH_LIBRARIES})
