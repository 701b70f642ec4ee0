# `cmake --install`: the headers that users need (LevinPublicHeaders.cmake) in include/levin, the library, the program, and the
# package that find_package(levin) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(levin_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/levin")

# Where the installed program and libraries look for LibTorch: where it was found, or in a folder `libtorch` beside levin's, as
# archives of both are unpacked; in a wheel beside levin in site-packages. CMake by itself leaves out what lies inside the
# checkout, such as the LibTorch of its .venv.
levin_libtorch_prefix(levin_torch_prefix "${LEVIN_LIBTORCH_CONFIG}")
function(levin_install_rpath target folder)
  file(RELATIVE_PATH prefix "/${folder}" "/")
  file(RELATIVE_PATH libraries "/${folder}" "/${CMAKE_INSTALL_LIBDIR}")
  if(LEVIN_WHEEL)
    set(torch "$ORIGIN/${prefix}../torch/lib")
    set_target_properties(${target} PROPERTIES INSTALL_RPATH_USE_LINK_PATH OFF)
  elseif(NOT levin_torch_prefix STREQUAL "/usr")  # where the system's loader looks by itself
    set(torch "${levin_torch_prefix}/lib" "$ORIGIN/${prefix}../libtorch/lib")
  endif()
  set(paths "$ORIGIN/${libraries}" ${torch})
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${paths}")
  # The build's programs have the same list. CMake would otherwise end theirs with an empty entry, by which the loader looks in the
  # current folder, so that the installation can write its own over it. A wheel's list does not find LibTorch in the build.
  if(NOT LEVIN_WHEEL)
    set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON
      LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}")
  endif()
endfunction()
levin_install_rpath(levin_c "${CMAKE_INSTALL_LIBDIR}")
if(BUILD_SHARED_LIBS)
  levin_install_rpath(levin "${CMAKE_INSTALL_LIBDIR}")
  levin_install_rpath(levin_weights "${CMAKE_INSTALL_LIBDIR}")
  levin_install_rpath(levin_commands "${CMAKE_INSTALL_LIBDIR}")
endif()

# Debug information stays in the build folder: it is most of what would be installed.
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  option(LEVIN_INSTALL_STRIPPED "Install without debug information" OFF)
else()
  option(LEVIN_INSTALL_STRIPPED "Install without debug information" ON)
endif()
if(LEVIN_INSTALL_STRIPPED)
  install(CODE "set(CMAKE_INSTALL_DO_STRIP TRUE)")
endif()

install(TARGETS levin_weights EXPORT levinWeightsTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS levin_plugin EXPORT levinTargets)
install(TARGETS levin levin_commands EXPORT levinTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# For hosts that are not C++ (levinHosts.cmake): the shared library, and for programs that a C++ compiler links, the archive.
install(TARGETS levin_c_static EXPORT levinTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS levin_c LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES hosts/c/c_api.h hosts/mpi/levin_mpi.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/levin")
install(DIRECTORY hosts/fortran/ DESTINATION "${CMAKE_INSTALL_DATADIR}/levin/fortran"
  FILES_MATCHING PATTERN "*.f90" PATTERN "*.c" PATTERN "*.h" PATTERN "fpm.toml")
install(FILES hosts/mpi/levin_mpi.c DESTINATION "${CMAKE_INSTALL_DATADIR}/levin/mpi")
# Packages have its source alone: they cannot know whose MPI it is to be.
option(LEVIN_INSTALL_MPI "Install liblevin_mpi.so for the MPI that CMake has found" ON)
if(TARGET levin_mpi AND LEVIN_INSTALL_MPI AND NOT LEVIN_WHEEL)
  install(TARGETS levin_mpi LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
# CMake itself strips no archives.
set(levin_archives levin_c_static)
if(NOT BUILD_SHARED_LIBS)
  list(APPEND levin_archives levin levin_weights levin_commands)
endif()
if(CMAKE_STRIP)
  foreach(library IN LISTS levin_archives)
    install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:${library}>\")
endif()")
  endforeach()
endif()
if(TARGET levin_program)
  levin_install_rpath(levin_program "${CMAKE_INSTALL_BINDIR}")
  install(TARGETS levin_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(PROGRAMS scripts/levin-export DESTINATION "${CMAKE_INSTALL_BINDIR}")
  if(NOT CMAKE_CROSSCOMPILING)
    foreach(completion bash:bash-completion/completions/levin zsh:zsh/site-functions/_levin
        fish:fish/vendor_completions.d/levin.fish)
      string(REPLACE ":" ";" completion "${completion}")
      list(GET completion 0 shell)
      list(GET completion 1 file)
      install(CODE "set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${file}\")
get_filename_component(folder \"\${file}\" DIRECTORY)
file(MAKE_DIRECTORY \"\${folder}\")
execute_process(COMMAND \"$<TARGET_FILE:levin_program>\" completion ${shell} OUTPUT_FILE \"\${file}\")
list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${file}\")")
    endforeach()
    install(CODE "set(folder \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\")
execute_process(COMMAND \"$<TARGET_FILE:levin_program>\" man --output \"\$ENV{DESTDIR}\${folder}\")
file(GLOB pages RELATIVE \"\$ENV{DESTDIR}\${folder}\" \"\$ENV{DESTDIR}\${folder}/levin*.1\")
list(TRANSFORM pages PREPEND \"\${folder}/\")
list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${pages})")
  endif()
endif()
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME copyright)
# Found when it is installed: what a header includes may have changed since the configuration.
install(CODE "include(\"${CMAKE_CURRENT_SOURCE_DIR}/cmake/LevinPublicHeaders.cmake\")
levin_installed_headers(headers \"${CMAKE_CURRENT_SOURCE_DIR}\")
foreach(header IN LISTS headers)
  get_filename_component(folder \"\${header}\" DIRECTORY)
  file(INSTALL \"${CMAKE_CURRENT_SOURCE_DIR}/\${header}\"
    DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/levin/\${folder}\")
endforeach()" COMPONENT headers)
install(EXPORT levinWeightsTargets NAMESPACE levin:: DESTINATION "${levin_package_folder}")
install(EXPORT levinTargets NAMESPACE levin:: DESTINATION "${levin_package_folder}")

# The LibTorch that levin was built with; a wheel looks beside itself alone.
set(levin_installed_libtorch "${LEVIN_LIBTORCH_CONFIG}")
if(LEVIN_WHEEL)
  set(levin_installed_libtorch "")
endif()
get_target_property(levin_c_soversion levin_c SOVERSION)
set(LEVIN_HOSTS_SONAME "liblevin_c.so")
if(levin_c_soversion)
  string(APPEND LEVIN_HOSTS_SONAME ".${levin_c_soversion}")
endif()
configure_package_config_file(cmake/levinConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/levinConfig.cmake"
  INSTALL_DESTINATION "${levin_package_folder}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/levinConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/levinConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/levinConfigVersion.cmake"
  cmake/levinHosts.cmake
  cmake/FindPCRE2.cmake
  cmake/FindWebP.cmake
  cmake/LevinLibTorch.cmake
  cmake/LevinPrecompile.cmake
  cmake/LevinStop.cmake
  DESTINATION "${levin_package_folder}")
