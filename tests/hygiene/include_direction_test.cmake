# cmake -DWORK=<folder> -P include_direction_test.cmake: the check finds one mistake of each kind in a small tree.
file(REMOVE_RECURSE "${WORK}")
file(WRITE "${WORK}/docs/levels.txt" "# A small table.
0 core/ errors
1 data/ loaders; samplers
3 trainer/checkpoint/ files
3 trainer/loggers/ loggers
4 trainer/ the face
")
file(WRITE "${WORK}/docs/design.md" "# Design

| level | path | what |
|---|---|---|
| 0 | `core/` | errors |
| 1 | `data/` | loaders; samplers |
| 2 | `modules/` | networks |
| 3 | `trainer/checkpoint/` | files |
| 3 | `trainer/loggers/` | other loggers |
| 4 | `trainer/` | the face |
")
set(narrow "#include <ATen/core/Tensor.h>\n")
file(WRITE "${WORK}/core/fine.h" "${narrow}")
file(WRITE "${WORK}/core/upward.h" "#include <levin/data/batch.h>\n")
file(WRITE "${WORK}/data/batch.h" "#include <levin/core/fine.h>\n")
file(WRITE "${WORK}/data/wide.cpp" "#include <torch/torch.h>\n")
file(WRITE "${WORK}/data/quoted.cpp" "#include \"batch.h\"\n")
file(WRITE "${WORK}/data/missing.cpp" "#include <levin/data/gone.h>\n")
file(WRITE "${WORK}/trainer/loggers/logger.h" "${narrow}")
file(WRITE "${WORK}/trainer/checkpoint/sibling.cpp" "  #  include <levin/trainer/loggers/logger.h>\n")
file(WRITE "${WORK}/trainer/trainer.cpp" "#include <levin/trainer/loggers/logger.h>\n")
file(WRITE "${WORK}/program/file.cpp" "${narrow}")
file(WRITE "${WORK}/examples/own.cpp" "#include \"own.h\"\n#include <torch/torch.h>\n#include <levin/data/batch.h>\n")
file(WRITE "${WORK}/examples/own.h" "\n")
file(WRITE "${WORK}/examples/private.cpp" "#include \"../data/batch.h\"\n")

execute_process(COMMAND "${CMAKE_COMMAND}" -DROOT=${WORK} -P "${CMAKE_CURRENT_LIST_DIR}/include_direction.cmake"
  RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
foreach(expected
    "core/upward.h (level 0) includes <levin/data/batch.h> (level 1)"
    "data/wide.cpp: <torch/torch.h>"
    "data/quoted.cpp: write <levin/...> for \"batch.h\""
    "data/missing.cpp: there is no <levin/data/gone.h>"
    "trainer/checkpoint/sibling.cpp (level 3) includes <levin/trainer/loggers/logger.h> (level 3)"
    "program/file.cpp: no level"
    "examples/private.cpp: \"../data/batch.h\" is neither"
    "docs/design.md does not show the row of docs/levels.txt: 3 trainer/loggers/ loggers"
    "docs/design.md has 6 rows of levels, docs/levels.txt 5"
    "9 mistakes in the includes of 10 files")
  string(FIND "${output}" "${expected}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "Not found: ${expected}\nin:\n${output}")
  endif()
endforeach()
if(NOT failed)
  message(FATAL_ERROR "The check did not fail")
endif()
