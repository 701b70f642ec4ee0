# Modules for the file formats whose libraries are large or rarely needed: levin opens liblevin_parquet.so and liblevin_hdf5.so when it
# reads a first file of the format (docs/decisions/103-modules-of-formats.md). Where a library is missing, levin is built without the
# module, and its data set says how to get it.
option(LEVIN_PARQUET "Build the module that reads Parquet files, where Arrow's library is found" ON)
option(LEVIN_HDF5 "Build the module that reads HDF5 files, where its library is found" ON)

# levin_add_format_module(format folders libraries rpath sources...): liblevin_<format>.so, beside the libraries, or lib of the build.
function(levin_add_format_module format folders libraries rpath)
  add_library(levin_${format} MODULE ${ARGN})
  levin_compile_options(levin_${format})
  target_compile_features(levin_${format} PRIVATE cxx_std_20)
  target_include_directories(levin_${format} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/include")
  target_include_directories(levin_${format} SYSTEM PRIVATE ${folders})
  target_link_libraries(levin_${format} PRIVATE ${libraries})
  set_target_properties(levin_${format} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON UNITY_BUILD OFF
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${rpath}" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
  add_dependencies(levin levin_${format})
  if(LEVIN_INSTALL)
    include(GNUInstallDirs)
    install(TARGETS levin_${format} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
endfunction()

# Arrow's library: that of the pyarrow beside LibTorch in site-packages, or else the distribution's.
function(levin_add_parquet_module)
  levin_libtorch_prefix(torch "${LEVIN_LIBTORCH_CONFIG}")
  get_filename_component(pyarrow "${torch}/../pyarrow" ABSOLUTE)
  file(GLOB arrow "${pyarrow}/libarrow.so.*")
  file(GLOB parquet "${pyarrow}/libparquet.so.*")
  set(folders "${pyarrow}/include")
  set(rpath "${pyarrow}")
  if(LEVIN_WHEEL)
    set(rpath "$ORIGIN/../../pyarrow")
  endif()
  if(NOT arrow OR NOT parquet OR NOT EXISTS "${pyarrow}/include/parquet/arrow/reader.h")
    find_package(Arrow QUIET)
    find_package(Parquet QUIET)
    if(NOT TARGET Arrow::arrow_shared OR NOT TARGET Parquet::parquet_shared)
      message(STATUS "Without Parquet: neither pyarrow beside LibTorch nor libparquet-dev is there")
      return()
    endif()
    set(arrow Arrow::arrow_shared)
    set(parquet Parquet::parquet_shared)
    set(folders "")
    set(rpath "")
  endif()
  levin_add_format_module(parquet "${folders}" "${parquet};${arrow}" "${rpath}" data/tables/parquet_module.cpp)
endfunction()

function(levin_add_hdf5_module)
  # CMake's own FindHDF5 needs a compiler for C.
  find_path(LEVIN_HDF5_INCLUDE hdf5.h PATH_SUFFIXES hdf5/serial)
  find_library(LEVIN_HDF5_LIBRARY NAMES hdf5_serial hdf5 PATH_SUFFIXES hdf5/serial)
  mark_as_advanced(LEVIN_HDF5_INCLUDE LEVIN_HDF5_LIBRARY)
  if(NOT LEVIN_HDF5_INCLUDE OR NOT LEVIN_HDF5_LIBRARY)
    message(STATUS "Without HDF5: libhdf5-dev is not there")
    return()
  endif()
  levin_add_format_module(hdf5 "${LEVIN_HDF5_INCLUDE}" "${LEVIN_HDF5_LIBRARY}" ""
    data/tables/file_rows.cpp data/tables/hdf5_module.cpp data/tables/hdf5_process.cpp data/tables/hdf5_requests.cpp
    data/tables/hdf5_type.cpp data/tables/hdf5_values.cpp data/tables/message.cpp data/tables/sealed_memory.cpp)
endfunction()

if(LEVIN_PARQUET)
  levin_add_parquet_module()
endif()
if(LEVIN_HDF5)
  levin_add_hdf5_module()
endif()
