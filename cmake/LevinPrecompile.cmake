# levin_precompile(target [header]): <levin/levin.h>, and LibTorch with it, is parsed once for all sources of the target;
# `header` names another, such as levin/lightning.h. The target must link
# levin::levin. A source that must not see the header gets the property SKIP_PRECOMPILE_HEADERS.
function(levin_precompile target)
  set(header levin/levin.h)
  if(ARGC GREATER 1)
    set(header "${ARGV1}")
  endif()
  target_precompile_headers(${target} PRIVATE "<${header}>")
endfunction()
