# Everything that the library stands on; ch_libraries carries include paths, link names and build switches.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(CAIRO REQUIRED IMPORTED_TARGET cairo)

add_library(ch_libraries INTERFACE)
target_link_libraries(ch_libraries INTERFACE PkgConfig::JANSSON PkgConfig::CAIRO Threads::Threads m)
target_compile_definitions(ch_libraries INTERFACE _GNU_SOURCE
  $<$<BOOL:${CH_DOUBLE}>:CH_DOUBLE=1> $<$<BOOL:${CH_VECTOR}>:CH_VECTOR=1>)

set(CH_PRIVATE_LIBRARIES "-lm -pthread") # for pkg-config, beside what has a .pc of its own
if(CH_OPENMP)
  find_package(OpenMP REQUIRED COMPONENTS C)
  target_link_libraries(ch_libraries INTERFACE OpenMP::OpenMP_C)
  string(APPEND CH_PRIVATE_LIBRARIES " ${OpenMP_C_FLAGS}")
endif()

if(CH_GEMM STREQUAL onednn)
  if(CH_DOUBLE)
    message(FATAL_ERROR "oneDNN multiplies floats only: CH_DOUBLE needs CH_GEMM=cblas or CH_GEMM=reference")
  endif()
  find_library(DNNL_LIBRARY dnnl REQUIRED)
  find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h REQUIRED)
  target_link_libraries(ch_libraries INTERFACE ${DNNL_LIBRARY})
  string(APPEND CH_PRIVATE_LIBRARIES " -ldnnl")
elseif(CH_GEMM STREQUAL cblas)
  pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
  target_link_libraries(ch_libraries INTERFACE PkgConfig::OPENBLAS)
  string(APPEND CH_PRIVATE_LIBRARIES " -lopenblas")
elseif(NOT CH_GEMM STREQUAL reference)
  message(FATAL_ERROR "CH_GEMM=${CH_GEMM}: expected onednn, cblas or reference")
endif()
