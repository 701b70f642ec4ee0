# cmake -DROOT=<checkout> -P include_direction.cmake: includes point downward only (docs/design.md has the levels).
cmake_minimum_required(VERSION 3.22)

# Part of the tree (a prefix of the path), level. Parts of one level do not include each other.
set(levels
  "trainer/core/ 0"
  "data/ 1"
  "modules/ 2"
  "callbacks/ 3"
  "trainer/launch/ 3"
  "trainer/strategies/ 3"
  "trainer/precision/ 3"
  "trainer/checkpoint/ 3"
  "trainer/loggers/ 3"
  "trainer/profilers/ 3"
  "trainer/options 4"
  "trainer/run_folder. 4"
  "trainer/placement. 5"
  "trainer/loops/ 5"
  "trainer/assembly. 6"
  "trainer/launch_ranks. 6"
  "trainer/run_messages. 6"
  "trainer/run_result. 6"
  "trainer/trainer. 7"
  "trainer/tuner/ 8"
  "trainer/cli/ 9"
  "levin.h 10")

set(mistakes 0)
macro(mistake)
  message("${ARGN}")
  math(EXPR mistakes "${mistakes} + 1")
endmacro()

# Sets `level` and `part` of the file `path`; both empty where the table has none.
macro(find_level path)
  set(level "")
  set(part "")
  foreach(entry IN LISTS levels)
    string(REGEX MATCH "^(.*) (.*)$" entry "${entry}")
    set(prefix "${CMAKE_MATCH_1}")
    set(number "${CMAKE_MATCH_2}")
    string(FIND "${path}" "${prefix}" position)
    if(position EQUAL 0)
      set(part "${prefix}")
      set(level "${number}")
    endif()
  endforeach()
endmacro()

# Sets `includes` to what the file includes, each with its bracket or quote: <levin/levin.h>.
macro(read_includes file)
  set(includes)
  file(STRINGS "${ROOT}/${file}" lines REGEX "^[ \t]*#[ \t]*include")
  foreach(line IN LISTS lines)
    if(line MATCHES "include[ \t]*([<\"][^>\"]+[>\"])")
      list(APPEND includes "${CMAKE_MATCH_1}")
    endif()
  endforeach()
endmacro()

macro(check_levin_include file include)
  if(NOT EXISTS "${ROOT}/${include}")
    mistake("${file}: there is no <levin/${include}>")
  endif()
endmacro()

# A file of the library, which has a level.
function(check_library_file file)
  find_level("${file}")
  set(own_level "${level}")
  set(own_part "${part}")
  if(own_level STREQUAL "")
    mistake("${file}: no level; add its folder to the table in tests/hygiene/include_direction.cmake")
  endif()
  read_includes("${file}")
  foreach(include IN LISTS includes)
    if(include MATCHES "^\"")
      mistake("${file}: write <levin/...> for ${include}")
    elseif(include STREQUAL "<torch/torch.h>" OR include STREQUAL "<torch/all.h>")
      mistake("${file}: ${include} takes 20 s; include the narrow header that serves")
    elseif(include MATCHES "^<levin/(.*)>$")
      set(target "${CMAKE_MATCH_1}")
      check_levin_include("${file}" "${target}")
      find_level("${target}")
      if(level STREQUAL "" OR level GREATER own_level OR (level EQUAL own_level AND NOT part STREQUAL own_part))
        mistake("${file} (level ${own_level}) includes ${include} (level ${level})")
      endif()
    endif()
  endforeach()
  set(mistakes ${mistakes} PARENT_SCOPE)
endfunction()

# A file of examples/ or benchmarks/, which sees what a user sees.
function(check_user_file file)
  read_includes("${file}")
  get_filename_component(folder "${file}" DIRECTORY)
  foreach(include IN LISTS includes)
    if(include MATCHES "^<levin/(.*)>$")
      check_levin_include("${file}" "${CMAKE_MATCH_1}")
    elseif(include MATCHES "^\"(.*)\"$" AND NOT EXISTS "${ROOT}/${folder}/${CMAKE_MATCH_1}" OR include MATCHES "\\.\\.")
      mistake("${file}: ${include} is neither a public header nor one of its own folder")
    endif()
  endforeach()
  set(mistakes ${mistakes} PARENT_SCOPE)
endfunction()

function(files_of result)
  set(globs)
  foreach(folder IN LISTS ARGN)
    list(APPEND globs "${ROOT}/${folder}/*.h" "${ROOT}/${folder}/*.cpp")
  endforeach()
  file(GLOB_RECURSE files RELATIVE "${ROOT}" ${globs})
  set(${result} ${files} PARENT_SCOPE)
endfunction()

files_of(library_files trainer data modules callbacks)
foreach(file IN LISTS library_files)
  check_library_file("${file}")
endforeach()
files_of(user_files examples benchmarks)
foreach(file IN LISTS user_files)
  check_user_file("${file}")
endforeach()

list(LENGTH library_files count)
if(mistakes GREATER 0 OR count EQUAL 0)
  message(FATAL_ERROR "${mistakes} mistakes in the includes of ${count} files")
endif()
message("The includes of ${count} files point downward")
