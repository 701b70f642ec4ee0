# Finds LibTorch 2.6 or newer and makes the imported target levin::torch from its folders.
#
# Looked for in this order: the Python in LEVIN_PYTHON; Torch_DIR, Torch_ROOT and CMAKE_PREFIX_PATH (an unpacked zip, the
# torch folder of a wheel); the Python in .venv of levin's checkout; LEVIN_LIBTORCH_DEFAULT, which levin's installed package
# sets; what the system has (Debian's libtorch-dev).
#
# LibTorch's own package file is only read, never run: with a CUDA build it stops where no CUDA toolkit is installed, which is
# the state of most machines with a GPU and `pip install torch`, and its targets are not seen outside of this folder.

include(${CMAKE_CURRENT_LIST_DIR}/LevinStop.cmake)

set(LEVIN_PYTHON "" CACHE FILEPATH "A Python whose torch is the LibTorch to use")
option(LEVIN_CUDA "Use CUDA where LibTorch has it" ON)

set(LEVIN_LIBTORCH_MINIMUM 2.6)
set(LEVIN_LIBTORCH_TESTED 2.14)

# Sets `result` to the torch folder that `python` would import, or to nothing.
function(levin_torch_of_python result python)
  execute_process(
    COMMAND "${python}" -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(folder "")
  endif()
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# Sets `result` to the folder of TorchConfigVersion.cmake, or to nothing. Further arguments restrict the search.
function(levin_search_torch_config result)
  # CONFIGS: the search is CMake's usual one, but only the file with the version is run.
  find_package(Torch QUIET CONFIG CONFIGS TorchConfigVersion.cmake ${ARGN})
  if(Torch_FOUND)
    set(${result} "${Torch_DIR}" PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

# Sets `result` to the folder of the package file of the LibTorch to use.
function(levin_locate_libtorch result)
  get_filename_component(checkout "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.." ABSOLUTE)
  if(LEVIN_PYTHON)
    levin_torch_of_python(torch "${LEVIN_PYTHON}")
    if(NOT torch)
      levin_stop("LEVIN_PYTHON=${LEVIN_PYTHON} cannot import torch: run '${LEVIN_PYTHON} -m pip install torch', or name another Python.")
    endif()
    set(config "${torch}/share/cmake/Torch")
  else()
    levin_search_torch_config(config NO_SYSTEM_ENVIRONMENT_PATH NO_CMAKE_PACKAGE_REGISTRY NO_CMAKE_SYSTEM_PATH)
    if(NOT config AND EXISTS "${checkout}/.venv/bin/python")
      levin_torch_of_python(torch "${checkout}/.venv/bin/python")
      if(torch)
        set(config "${torch}/share/cmake/Torch")
      endif()
    endif()
    if(NOT config AND EXISTS "${LEVIN_LIBTORCH_DEFAULT}/TorchConfig.cmake")
      set(config "${LEVIN_LIBTORCH_DEFAULT}")
    endif()
    if(NOT config)
      levin_search_torch_config(config)
    endif()
  endif()
  if(NOT config)
    levin_stop("levin needs LibTorch ${LEVIN_LIBTORCH_MINIMUM} or newer: run scripts/setup, or pass -DLEVIN_PYTHON=<a Python with torch> or -DCMAKE_PREFIX_PATH=<an unpacked LibTorch>.")
  endif()
  set(${result} "${config}" PARENT_SCOPE)
endfunction()

# Sets `result` to the version that the package file in `config` states; stops where it is too old.
function(levin_libtorch_version result config)
  include("${config}/TorchConfigVersion.cmake" OPTIONAL)
  if(NOT PACKAGE_VERSION OR PACKAGE_VERSION VERSION_LESS LEVIN_LIBTORCH_MINIMUM)
    levin_stop("levin needs LibTorch ${LEVIN_LIBTORCH_MINIMUM} or newer, and ${config} has version ${PACKAGE_VERSION}: run scripts/setup, or name a newer one with -DLEVIN_PYTHON or -DCMAKE_PREFIX_PATH.")
  endif()
  set(${result} "${PACKAGE_VERSION}" PARENT_SCOPE)
endfunction()

# Adds to levin::torch the definitions that LibTorch's own targets would give: its backends, and the ABI of old wheels.
function(levin_add_libtorch_definitions config)
  file(STRINGS "${config}/TorchConfig.cmake" abi REGEX "_GLIBCXX_USE_CXX11_ABI=[01]")
  if(abi MATCHES "_GLIBCXX_USE_CXX11_ABI=[01]")
    target_compile_definitions(levin::torch INTERFACE ${CMAKE_MATCH_0})
  endif()
  file(STRINGS "${config}/../Caffe2/Caffe2Targets.cmake" lines REGEX "INTERFACE_COMPILE_DEFINITIONS")
  string(REGEX MATCHALL "USE_[A-Z0-9_]+" backends "${lines}")
  list(REMOVE_DUPLICATES backends)
  list(REMOVE_ITEM backends USE_C10D_NCCL)  # levin_add_cuda adds it where NCCL's header is there
  target_compile_definitions(levin::torch INTERFACE ${backends})
endfunction()

# Stops where one of the CUDA headers that LibTorch's include is in none of `folders`.
function(levin_check_cuda_headers prefix folders)
  set(version "X.Y")
  if(EXISTS "${prefix}/version.py")
    file(STRINGS "${prefix}/version.py" line REGEX "^cuda.*[0-9]+\\.[0-9]+")
    string(REGEX MATCH "[0-9]+\\.[0-9]+" version "${line}")
  endif()
  foreach(header cuda_runtime_api.h crt/host_defines.h nv/target cublas_v2.h cusparse.h)
    find_path(found ${header} PATHS ${folders} NO_DEFAULT_PATH NO_CACHE)
    if(NOT found)
      levin_stop("The LibTorch in ${prefix} is built for CUDA ${version}, whose header ${header} is missing: install the CUDA toolkit, or in its Python 'pip install --no-deps nvidia-cuda-crt==${version}.* nvidia-cuda-cccl==${version}.*', or pass -DLEVIN_CUDA=OFF.")
    endif()
    unset(found)
  endforeach()
endfunction()

# Adds CUDA to levin::torch, from the wheels beside torch or else from a CUDA toolkit; sets LEVIN_HAS_NCCL.
function(levin_add_cuda prefix)
  get_filename_component(site_packages "${prefix}" DIRECTORY)
  file(GLOB folders "${site_packages}/nvidia/*/include" "${site_packages}/nvidia/*/include/cccl")
  file(GLOB cudart "${site_packages}/nvidia/*/lib/libcudart.so.*")
  if(NOT cudart)
    find_package(CUDAToolkit QUIET)
    set(folders ${CUDAToolkit_INCLUDE_DIRS})
    set(cudart "${CUDA_cudart_LIBRARY}")
  endif()
  levin_check_cuda_headers("${prefix}" "${folders}")
  set(libraries "${prefix}/lib/libc10_cuda.so" "${prefix}/lib/libtorch_cuda.so")
  # Nothing refers to libtorch_cuda by symbol, and linkers that drop such libraries would drop CUDA with it.
  list(JOIN libraries "," kept)
  target_link_libraries(levin::torch INTERFACE "-Wl,--push-state,--no-as-needed,${kept},--pop-state" ${libraries} ${cudart})
  target_include_directories(levin::torch INTERFACE ${folders})
  find_path(nccl nccl.h PATHS ${folders} NO_CACHE)
  if(nccl)
    set(LEVIN_HAS_NCCL ON PARENT_SCOPE)
    target_compile_definitions(levin::torch INTERFACE USE_DISTRIBUTED USE_C10D_NCCL)
  endif()
endfunction()

# Sets `result` to the folder with LibTorch's include and lib folders.
function(levin_libtorch_prefix result config)
  # The package file is in share/cmake/Torch of wheels and zips, and in lib/<machine>/cmake/Torch of Debian.
  foreach(up "../../.." "../../../..")
    get_filename_component(prefix "${config}/${up}" ABSOLUTE)
    if(EXISTS "${prefix}/include/torch")
      set(${result} "${prefix}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  levin_stop("The LibTorch of ${config} has no headers: install it again, for example with scripts/setup.")
endfunction()

# Makes levin::torch of the LibTorch whose package file is in `config`.
function(levin_make_libtorch_target config version)
  levin_libtorch_prefix(prefix "${config}")
  add_library(levin::torch INTERFACE IMPORTED GLOBAL)
  # Not libtorch itself: it has nothing of LibTorch, and in wheels with CUDA copies of std::filesystem's functions, which
  # would be taken and crash.
  foreach(name torch_cpu c10)
    find_library(library ${name} HINTS "${prefix}/lib" NO_CACHE)
    if(NOT library)
      levin_stop("The LibTorch in ${prefix} has no shared library lib${name}.so: install it again, for example with scripts/setup.")
    endif()
    target_link_libraries(levin::torch INTERFACE "${library}")
    unset(library)
  endforeach()
  target_include_directories(levin::torch INTERFACE "${prefix}/include" "${prefix}/include/torch/csrc/api/include")
  # Wheels for arm64 have libraries there that name each other without a path, which GNU ld then looks for.
  if(EXISTS "${prefix}/../torch.libs")
    target_link_libraries(levin::torch INTERFACE "-Wl,-rpath-link,${prefix}/../torch.libs")
  endif()
  # LibTorch is made by g++, which names functions as Clang did before 18.
  target_compile_options(levin::torch INTERFACE
    "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,18>>:-fclang-abi-compat=17>")
  levin_add_libtorch_definitions("${config}")
  set(LEVIN_HAS_CUDA OFF)
  set(LEVIN_HAS_NCCL OFF)
  if(LEVIN_CUDA AND EXISTS "${prefix}/lib/libtorch_cuda.so")
    set(LEVIN_HAS_CUDA ON)
    levin_add_cuda("${prefix}")
  endif()
  message(STATUS "LibTorch ${version} in ${prefix} (CUDA ${LEVIN_HAS_CUDA}, NCCL ${LEVIN_HAS_NCCL})")
  if(version VERSION_GREATER_EQUAL "${LEVIN_LIBTORCH_TESTED}.99")
    message(STATUS "levin is tested with LibTorch ${LEVIN_LIBTORCH_MINIMUM} to ${LEVIN_LIBTORCH_TESTED}")
  endif()
  set_target_properties(levin::torch PROPERTIES
    LEVIN_LIBTORCH_VERSION "${version}"
    LEVIN_LIBTORCH_CONFIG "${config}"
    LEVIN_HAS_CUDA ${LEVIN_HAS_CUDA}
    LEVIN_HAS_NCCL ${LEVIN_HAS_NCCL})
endfunction()

# Makes levin::torch, once, and sets LEVIN_LIBTORCH_VERSION, LEVIN_LIBTORCH_CONFIG, LEVIN_HAS_CUDA and LEVIN_HAS_NCCL.
function(levin_find_libtorch)
  if(NOT TARGET levin::torch)
    levin_locate_libtorch(config)
    levin_libtorch_version(version "${config}")
    levin_make_libtorch_target("${config}" "${version}")
  endif()
  foreach(name LEVIN_LIBTORCH_VERSION LEVIN_LIBTORCH_CONFIG LEVIN_HAS_CUDA LEVIN_HAS_NCCL)
    get_target_property(value levin::torch ${name})
    set(${name} "${value}" PARENT_SCOPE)
  endforeach()
endfunction()
