# The README's program is examples/mnist/mnist.cpp, word for word.
file(READ "${ROOT}/README.md" readme)
file(READ "${ROOT}/examples/mnist/mnist.cpp" program)
string(FIND "${readme}" "```cpp\n${program}```" position)
if(position EQUAL -1)
  message(FATAL_ERROR "README.md does not hold examples/mnist/mnist.cpp; copy it there.")
endif()
