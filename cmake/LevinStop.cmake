# levin_stop(text): the one line that ends the configuration. The leading space keeps CMake from breaking it.
function(levin_stop text)
  message(FATAL_ERROR " ${text}")
endfunction()
