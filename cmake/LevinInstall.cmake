# `cmake --install`: the headers that users need (LevinPublicHeaders.cmake) in include/levin, the library, the program, and the
# package that find_package(levin) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(levin_package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/levin")

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
install(TARGETS levin EXPORT levinTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# CMake itself strips no archives.
if(CMAKE_STRIP AND NOT BUILD_SHARED_LIBS)
  foreach(library levin levin_weights)
    install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:${library}>\")
endif()")
  endforeach()
endif()
if(TARGET levin_program)
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
# Found when it is installed: what a header includes may have changed since the configuration.
install(CODE "include(\"${CMAKE_CURRENT_SOURCE_DIR}/cmake/LevinPublicHeaders.cmake\")
levin_installed_headers(headers \"${CMAKE_CURRENT_SOURCE_DIR}\")
foreach(header IN LISTS headers)
  get_filename_component(folder \"\${header}\" DIRECTORY)
  file(INSTALL \"${CMAKE_CURRENT_SOURCE_DIR}/\${header}\"
    DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/levin/\${folder}\")
endforeach()")
foreach(header IN LISTS levin_forwarded_headers)
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/forwarded_include/levin/${header}"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/levin/${folder}")
endforeach()
install(EXPORT levinWeightsTargets NAMESPACE levin:: DESTINATION "${levin_package_folder}")
install(EXPORT levinTargets NAMESPACE levin:: DESTINATION "${levin_package_folder}")

configure_package_config_file(cmake/levinConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/levinConfig.cmake"
  INSTALL_DESTINATION "${levin_package_folder}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/levinConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/levinConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/levinConfigVersion.cmake"
  cmake/LevinLibTorch.cmake
  cmake/LevinPrecompile.cmake
  cmake/LevinStop.cmake
  DESTINATION "${levin_package_folder}")
