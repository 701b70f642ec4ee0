# cmake -DPROGRAM=<levin> -DPAGE=<docs/config.md> -P config_docs.cmake: the page is what the program prints.
execute_process(COMMAND "${PROGRAM}" config docs OUTPUT_VARIABLE printed RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "levin config docs failed")
endif()
file(READ "${PAGE}" page)
if(NOT printed STREQUAL page)
  message(FATAL_ERROR "docs/config.md is not current: levin config docs > docs/config.md")
endif()
