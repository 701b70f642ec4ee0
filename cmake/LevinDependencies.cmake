# The libraries levin stands on. One that is missing stops the configuration with a line that says what to install.
include(LevinLibTorch)

# find_package(package minimum), or one line with the Debian package that has it.
function(levin_require package minimum debian_package)
  find_package(${package} ${minimum} QUIET)
  if(NOT ${package}_FOUND)
    set(found ${${package}_CONSIDERED_VERSIONS})
    list(REMOVE_DUPLICATES found)
    list(JOIN found ", " found)
    if(found)
      set(found " (found: ${found})")
    endif()
    levin_stop("levin needs ${package} ${minimum} or newer${found}: run scripts/setup, or apt-get install ${debian_package}.")
  endif()
endfunction()

levin_require(nlohmann_json 3.9 nlohmann-json3-dev)
levin_require(spdlog 1.8 libspdlog-dev)
levin_require(CLI11 2.1 libcli11-dev)
levin_require(ZLIB 1.2 zlib1g-dev)
levin_find_libtorch()

# Wheels with the old C++ ABI cannot be linked with the packaged spdlog, but its headers can be compiled with that ABI.
get_target_property(levin_torch_definitions levin::torch INTERFACE_COMPILE_DEFINITIONS)
if("_GLIBCXX_USE_CXX11_ABI=0" IN_LIST levin_torch_definitions)
  set(LEVIN_SPDLOG spdlog::spdlog_header_only)
  add_compile_definitions(_GLIBCXX_USE_CXX11_ABI=0 FMT_HEADER_ONLY)
else()
  set(LEVIN_SPDLOG spdlog::spdlog)
endif()
