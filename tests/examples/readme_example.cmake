# Pages hold examples word for word.
function(check_page page example)
  file(READ "${ROOT}/${page}" text)
  file(READ "${ROOT}/examples/${example}/${example}.cpp" program)
  string(FIND "${text}" "```cpp\n${program}```" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "${page} does not hold examples/${example}/${example}.cpp; copy it there.")
  endif()
endfunction()

check_page(README.md mnist)
check_page(docs/loggers.md logger_by_hand)
check_page(docs/loggers.md own_logger)
