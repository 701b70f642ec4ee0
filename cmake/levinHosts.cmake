# levin for hosts that are not C++: the components C, Fortran and MPI of find_package(levin), which need no C++ compiler and
# no LibTorch of the project's. The module for Fortran and the library for MPI are compiled by the project's own compilers, whose
# module files and MPI they are made for.
if(NOT TARGET levin::c)
  add_library(levin::c SHARED IMPORTED)
  set_target_properties(levin::c PROPERTIES
    IMPORTED_LOCATION "${LEVIN_HOSTS_LIBRARIES}/liblevin_c.so"
    IMPORTED_SONAME "${LEVIN_HOSTS_SONAME}"
    INTERFACE_INCLUDE_DIRECTORIES "${LEVIN_HOSTS_HEADERS}")
endif()

function(levin_add_fortran)
  file(GLOB sources "${LEVIN_HOSTS_SOURCES}/fortran/*.f90" "${LEVIN_HOSTS_SOURCES}/fortran/*.c")
  add_library(levin_fortran STATIC ${sources})
  set(modules "${CMAKE_CURRENT_BINARY_DIR}/levin_modules")
  set_target_properties(levin_fortran PROPERTIES Fortran_MODULE_DIRECTORY "${modules}" POSITION_INDEPENDENT_CODE ON)
  target_include_directories(levin_fortran INTERFACE "${modules}")
  # ISO_Fortran_binding.h is the Fortran compiler's; gcc finds that of gfortran by itself.
  if(CMAKE_Fortran_COMPILER_ID STREQUAL "LLVMFlang")
    get_filename_component(flang "${CMAKE_Fortran_COMPILER}" REALPATH)
    get_filename_component(flang "${flang}" DIRECTORY)
    target_compile_options(levin_fortran PRIVATE "$<$<COMPILE_LANGUAGE:C>:-I${flang}/../include/flang>")
  endif()
  target_link_libraries(levin_fortran PUBLIC levin::c)
  add_library(levin::fortran ALIAS levin_fortran)
endfunction()

function(levin_add_mpi)
  add_library(levin_mpi STATIC "${LEVIN_HOSTS_SOURCES}/mpi/levin_mpi.c")
  set_target_properties(levin_mpi PROPERTIES C_STANDARD 99 POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(levin_mpi PUBLIC levin::c MPI::MPI_C)
  add_library(levin::mpi ALIAS levin_mpi)
endfunction()

# levin_find_host_component(name): makes the targets of a component; levin_<name>_FOUND says whether it could.
macro(levin_find_host_component name)
  set(levin_${name}_FOUND TRUE)
  get_property(levin_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("${name}" STREQUAL "Fortran" AND NOT TARGET levin::fortran)
    if("Fortran" IN_LIST levin_languages AND "C" IN_LIST levin_languages)
      levin_add_fortran()
    else()
      set(levin_Fortran_FOUND FALSE)
      set(levin_NOT_FOUND_MESSAGE "the component Fortran needs project(... LANGUAGES C Fortran)")
    endif()
  elseif("${name}" STREQUAL "MPI" AND NOT TARGET levin::mpi)
    if("C" IN_LIST levin_languages)
      find_package(MPI QUIET COMPONENTS C)
    endif()
    if(MPI_C_FOUND)
      levin_add_mpi()
    else()
      set(levin_MPI_FOUND FALSE)
      set(levin_NOT_FOUND_MESSAGE "the component MPI needs the language C, and an MPI that CMake's FindMPI finds")
    endif()
  endif()
endmacro()
