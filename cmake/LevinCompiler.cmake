# How levin's own code is compiled: warnings, sanitizers, the compiler cache and the linker.

include(${CMAKE_CURRENT_LIST_DIR}/LevinStop.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/LevinTogether.cmake)

# Stops where the compiler is too old for the C++20 that levin and LibTorch use.
function(levin_check_compiler)
  set(minimum_GNU 12)
  set(minimum_Clang 14)
  set(minimum_AppleClang 15)
  set(minimum "${minimum_${CMAKE_CXX_COMPILER_ID}}")
  if(minimum AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS minimum)
    levin_stop("levin needs g++ 12, clang 14 or newer, and this compiler is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}: apt-get install g++-12, then pass -DCMAKE_CXX_COMPILER=g++-12 in a new build folder.")
  endif()
endfunction()

# ccache, with paths relative to the checkout, so that another clone finds the same objects. Precompiled headers need the
# sloppiness (nothing here uses __TIME__) and the depend mode: ccache cannot preprocess what they are included in.
function(levin_use_ccache)
  find_program(LEVIN_CCACHE ccache)
  if(LEVIN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};CCACHE_NOHASHDIR=1;CCACHE_DEPEND=1;CCACHE_SLOPPINESS=pch_defines,time_macros;${LEVIN_CCACHE}" PARENT_SCOPE)
  endif()
endfunction()

function(levin_use_mold)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold LEVIN_HAS_MOLD)
  if(LEVIN_HAS_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endfunction()

function(levin_use_sanitizers)
  # vptr checks would need the type information that LibTorch hides.
  add_compile_options(-fsanitize=${LEVIN_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LEVIN_SANITIZE})
  if(LEVIN_FUZZ)  # libFuzzer's counters
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
endfunction()

# What distributions build their programs with: a return address that was written over ends the program, known sizes are checked, and
# the table of addresses that the loader fills is read-only afterwards.
function(levin_use_hardening)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$" OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
  endif()
  add_compile_options(-fstack-protector-strong)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")  # _FORTIFY_SOURCE needs optimisation
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  endif()
  add_link_options(-Wl,-z,relro -Wl,-z,now)
endfunction()

function(levin_compile_options target)
  # Sources are named relative to the checkout in what they print, and so in the objects.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
  if(CMAKE_UNITY_BUILD)
    levin_name_sources_as_alone(${target})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # LibTorch's headers fill a GB, which g++ would otherwise search for garbage again and again: a tenth of its time.
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=1500000)
  endif()
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
endfunction()

# levin_precompile_headers(target headers...): where LEVIN_PRECOMPILE_HEADERS is on. Sources with compile options of their own need
# SKIP_PRECOMPILE_HEADERS.
function(levin_precompile_headers target)
  if(LEVIN_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# levin_precompile_as(target other): the same file as another target, whose definitions may be fewer.
function(levin_precompile_as target other)
  if(LEVIN_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()

# levin_precompile_torch(target headers): torch/torch.h for programs that include it whole; those that name the same target `headers`,
# which is made by the first one and is compiled with its options, share one file.
function(levin_precompile_torch target headers)
  if(NOT LEVIN_PRECOMPILE_HEADERS)
    return()
  endif()
  if(NOT TARGET ${headers})
    set(source "${PROJECT_BINARY_DIR}/${headers}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "int main() {}\n" @ONLY)
    add_executable(${headers} EXCLUDE_FROM_ALL "${source}")
    target_compile_options(${headers} PRIVATE "$<TARGET_PROPERTY:${target},COMPILE_OPTIONS>")
    set_target_properties(${headers} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${headers} PRIVATE levin::levin)
    target_precompile_headers(${headers} PRIVATE <torch/torch.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# levin_compile_quickly(target): for tests and examples. In Release without optimisation, which compiles in three fifths of the time:
# what takes the time of a run is in the libraries. Nor do they hold debug information there: a hundred programs with the library's
# took 14 GB of the disk, and take 2. A target whose tests read it has the property LEVIN_DEBUG_INFORMATION.
function(levin_compile_quickly target)
  levin_compile_options(${target})
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE "SHELL:-O0 -U_FORTIFY_SOURCE")
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
      target_link_options(${target} PRIVATE "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:LEVIN_DEBUG_INFORMATION>>>:-Wl,--strip-debug>")
    endif()
  endif()
  levin_precompile_torch(${target} levin_quick_torch_headers)
endfunction()

# at::parallel_for is compiled into its callers: without OpenMP it would be a plain loop in levin's own passes over memory.
# libgomp by its name is the one that LibTorch has loaded. Clang would bring a second runtime, and ThreadSanitizer does not see
# libgomp's barriers: there it stays a plain loop.
function(levin_use_openmp target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT LEVIN_SANITIZE MATCHES "thread")
    target_compile_options(${target} PRIVATE -fopenmp)
    target_link_libraries(${target} PRIVATE gomp)
  endif()
endfunction()

# levin_sees_operations(library files...): sources that call functions of LibTorch's RecordFunction, which has a member more where
# NDEBUG is not defined, while LibTorch itself is built with it. None may be left out: without optimisation all take the functions of
# one of them.
function(levin_sees_operations library)
  if(NOT CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$")
    set_source_files_properties(${ARGN} TARGET_DIRECTORY ${library} PROPERTIES
      COMPILE_DEFINITIONS NDEBUG SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

levin_check_compiler()
if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
  levin_use_ccache()
  levin_use_mold()
  if(LEVIN_SANITIZE)
    levin_use_sanitizers()
  elseif(LEVIN_HARDENING)
    levin_use_hardening()
  endif()
endif()

# levin_text_sources(files...): sources that use spdlog or fmt. They are compiled without LibTorch's include folders, where
# some wheels have another fmt; so they include no header of LibTorch.
function(levin_text_sources)
  if(NOT TARGET levin_text)
    add_library(levin_text OBJECT)
    levin_compile_options(levin_text)
    target_compile_features(levin_text PRIVATE cxx_std_20)
    target_include_directories(levin_text PRIVATE "${levin_SOURCE_DIR}/include")
    target_link_libraries(levin_text PRIVATE ${LEVIN_SPDLOG})
    target_sources(levin PRIVATE $<TARGET_OBJECTS:levin_text>)
  endif()
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  target_sources(levin_text PRIVATE ${ARGN})
endfunction()

# levin_sources(library folder files... [ALONE files...]): sources of a folder, sorted by name, as part of a library. Those behind
# ALONE are always compiled by themselves, the others in groups (levin_group_sources).
function(levin_sources library folder)
  set(together ${ARGN})
  set(alone)
  list(FIND together ALONE position)
  if(NOT position EQUAL -1)
    list(SUBLIST together ${position} -1 alone)
    list(REMOVE_AT alone 0)
    list(SUBLIST together 0 ${position} together)
  endif()
  get_filename_component(path "${folder}" ABSOLUTE)
  list(TRANSFORM together PREPEND "${path}/")
  list(TRANSFORM alone PREPEND "${path}/")
  target_sources(${library} PRIVATE ${together} ${alone})
  file(RELATIVE_PATH room "${levin_SOURCE_DIR}" "${path}")
  string(MAKE_C_IDENTIFIER "${room}" room)
  set_property(GLOBAL APPEND PROPERTY LEVIN_ROOMS_OF_${library} ${room})
  set_property(GLOBAL PROPERTY LEVIN_SOURCES_OF_${library}_${room} ${together})
endfunction()

# levin_group_sources(most library...): where sources are compiled together (CMAKE_UNITY_BUILD), a folder makes groups of at
# most `most` files, equally many in each, and small folders that follow each other share one. So a new file changes the
# groups of its folder alone.
function(levin_group_sources most)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  foreach(library IN LISTS ARGN)
    set_target_properties(${library} PROPERTIES UNITY_BUILD OFF)
    set(groups_of_library "")
    set(shared "")
    set(in_shared 0)
    get_property(rooms GLOBAL PROPERTY LEVIN_ROOMS_OF_${library})
    foreach(room IN LISTS rooms)
      get_property(sources GLOBAL PROPERTY LEVIN_SOURCES_OF_${library}_${room})
      list(LENGTH sources count)
      math(EXPR groups "(${count} + ${most} - 1) / ${most}")
      math(EXPR in_shared "${in_shared} + ${count}")
      if(groups GREATER 1 OR in_shared GREATER most)
        set(shared "")
      endif()
      if(NOT shared)
        set(shared ${room})
        set(in_shared ${count})
      endif()
      set(index 0)
      foreach(source IN LISTS sources)
        math(EXPR group "${index} * ${groups} / ${count}")
        levin_may_be_together(may ${library} "${source}")
        if(may)
          list(APPEND groups_of_library ${shared}_${group})
          list(APPEND sources_of_${shared}_${group} "${source}")
        endif()
        math(EXPR index "${index} + 1")
      endforeach()
      if(groups GREATER 1)
        set(shared "")
      endif()
    endforeach()
    list(REMOVE_DUPLICATES groups_of_library)
    foreach(group IN LISTS groups_of_library)
      levin_include_in_one(${library} ${group} ${sources_of_${group}})
      set(sources_of_${group} "")
    endforeach()
  endforeach()
endfunction()

# levin_compile_as_cold(library): what runs a few times in a program's life is compiled at -O1.
function(levin_compile_as_cold library)
  target_compile_options(${library} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(LEVIN_PRECOMPILE_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13
      AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    # What newer g++ switches on at -O2: without these, headers precompiled at -O2 are not taken at -O1.
    target_compile_options(${library} PRIVATE $<$<CONFIG:Release>:-munroll-only-small-loops> $<$<CONFIG:Release>:-mvzeroupper>)
  endif()
endfunction()

# levin_embed(library file source content): a file that is part of the library, as @text@ in a source that is made of `content`.
function(levin_embed library file source content)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" text)
  set(embedded "${PROJECT_BINARY_DIR}/${source}")
  file(CONFIGURE OUTPUT "${embedded}" @ONLY CONTENT "${content}")
  target_sources(${library} PRIVATE "${embedded}")
  set_source_files_properties("${embedded}" TARGET_DIRECTORY ${library} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
