# levin_precompile(target... [HEADER header]): <levin/levin.h>, and LibTorch with it, is parsed once for all sources of the
# targets; `header` names another, such as levin/lightning.h. The targets link levin::levin and have the same compile options and
# definitions: what is parsed for the first serves the others. A source that must not see the header gets the property
# SKIP_PRECOMPILE_HEADERS.
function(levin_precompile)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "HEADER" "")
  set(targets ${arg_UNPARSED_ARGUMENTS})
  if(NOT targets)
    message(FATAL_ERROR "levin_precompile: name one or more targets, as in levin_precompile(app HEADER levin/lightning.h)")
  endif()
  foreach(target IN LISTS targets)
    if(NOT TARGET ${target})
      message(FATAL_ERROR "levin_precompile: ${target} is no target; a header is named by HEADER ${target}")
    endif()
  endforeach()
  if(NOT arg_HEADER)
    set(arg_HEADER levin/levin.h)
  endif()
  list(POP_FRONT targets first)
  target_precompile_headers(${first} PRIVATE "<${arg_HEADER}>")
  foreach(target IN LISTS targets)
    target_precompile_headers(${target} REUSE_FROM ${first})
  endforeach()
endfunction()
