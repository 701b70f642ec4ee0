# The libraries levin stands on. One that is missing stops the configuration with a line that says what to install.
include(LevinLibTorch)

# find_package(package minimum ...), or one line with the Debian package that has it. An empty minimum: any version.
function(levin_require package minimum debian_package)
  find_package(${package} ${minimum} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    set(found ${${package}_CONSIDERED_VERSIONS})
    list(REMOVE_DUPLICATES found)
    list(JOIN found ", " found)
    if(found)
      set(found " (found: ${found})")
    endif()
    set(wanted ${package})
    if(minimum)
      set(wanted "${package} ${minimum} or newer")
    endif()
    levin_stop("levin needs ${wanted}${found}: run scripts/setup, or apt-get install ${debian_package}.")
  endif()
endfunction()

levin_require(nlohmann_json 3.9 nlohmann-json3-dev)
levin_require(spdlog 1.8 libspdlog-dev)
levin_require(CLI11 2.1 libcli11-dev)
levin_require(ZLIB 1.2 zlib1g-dev)
# levin_may_use(option target package minimum debian_package what ...): a library that can be left out; adds its target to
# LEVIN_OPTIONAL_LIBRARIES. What follows goes to find_package.
set(LEVIN_OPTIONAL_LIBRARIES "")
macro(levin_may_use option target package minimum debian_package what)
  option(${option} "${what}" ON)
  if(${option})
    levin_require(${package} "${minimum}" "${debian_package}, or pass -D${option}=OFF" ${ARGN})
    list(APPEND LEVIN_OPTIONAL_LIBRARIES ${target})
  endif()
endmacro()
levin_may_use(LEVIN_JPEG JPEG::JPEG JPEG "" libjpeg-dev "Read and write JPEG files")
levin_may_use(LEVIN_PNG PNG::PNG PNG 1.6 libpng-dev "Read and write PNG files")
levin_may_use(LEVIN_TIFF TIFF::TIFF TIFF 4.1 libtiff-dev "Read TIFF files")
levin_may_use(LEVIN_WEBP WebP::webp WebP "" libwebp-dev "Read WebP files")
levin_may_use(LEVIN_ARCHIVE LibArchive::LibArchive LibArchive 3.4 libarchive-dev "Read tar and zip files")
levin_may_use(LEVIN_CURL CURL::libcurl CURL 7.68 libcurl4-openssl-dev "Download data sets, and log to servers")
levin_may_use(LEVIN_TOKENIZERS PCRE2::8BIT PCRE2 10.30 libpcre2-dev "Encode text by tokenizer.json")
levin_may_use(LEVIN_TOKENIZERS ICU::uc ICU 60 libicu-dev "Encode text by tokenizer.json" COMPONENTS uc)
levin_require(OpenSSL 1.1.1 libssl-dev)
levin_find_libtorch()

# Wheels with the old C++ ABI cannot be linked with the packaged spdlog, but its headers can be compiled with that ABI.
get_target_property(levin_torch_definitions levin::torch INTERFACE_COMPILE_DEFINITIONS)
if("_GLIBCXX_USE_CXX11_ABI=0" IN_LIST levin_torch_definitions)
  set(LEVIN_SPDLOG spdlog::spdlog_header_only)
  add_compile_definitions(_GLIBCXX_USE_CXX11_ABI=0 FMT_HEADER_ONLY)
else()
  set(LEVIN_SPDLOG spdlog::spdlog)
endif()

# Packages of compiled steps are run by AOTInductor, which Debian's LibTorch is built without.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES levin::torch)
set(CMAKE_REQUIRED_FLAGS -std=c++20)
check_cxx_source_compiles("
  #include <torch/csrc/inductor/aoti_package/model_package_loader.h>
  int main(int, char** arguments) {
    torch::inductor::AOTIModelPackageLoader code(arguments[0], \"model\", true);
    return static_cast<int>(code.run({}).size());
  }" LEVIN_HAS_AOTI)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_FLAGS)
