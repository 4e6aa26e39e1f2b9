# What every test runs under, and the tests that are scripts: the tree's rules, the goldens, leaks, the documents, and
# the lesson at full length and models at full size (label "slow": left out of the quick tier of scripts/test). A script that misses its tool
# exits with 77 and counts as skipped.
function(ch_script_test name)
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${name}.sh ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

# Every command of a document, run and compared.
function(ch_document_test name document)
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/docs.sh ${CMAKE_SOURCE_DIR} ${document}
    $<TARGET_FILE:clearhead> $<TARGET_FILE:ch_shared> ${CMAKE_C_COMPILER})
endfunction()

add_test(NAME tiers COMMAND ${CMAKE_SOURCE_DIR}/tools/check_tiers.sh)
ch_script_test(check_tiers ${CMAKE_SOURCE_DIR})
ch_script_test(no_torch ${CMAKE_SOURCE_DIR})
ch_script_test(bench $<TARGET_FILE:clearhead-bench>)
if(NOT CH_DOUBLE AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
  ch_script_test(goldens ${CMAKE_SOURCE_DIR})
  ch_script_test(plants ${CMAKE_SOURCE_DIR} $<TARGET_FILE:clearhead>)
  ch_script_test(bench_peers ${CMAKE_SOURCE_DIR} $<TARGET_FILE:clearhead-bench> $<TARGET_FILE:clearhead>)
  ch_script_test(valgrind $<TARGET_FILE:clearhead> ${CMAKE_CURRENT_SOURCE_DIR}/valgrind.supp)
  ch_script_test(slow_lesson $<TARGET_FILE:clearhead>)
  ch_script_test(slow_sizes $<TARGET_FILE:clearhead>)
  ch_script_test(slow_text ${PROJECT_SOURCE_DIR} $<TARGET_FILE:clearhead>)
  ch_script_test(installed ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER})
  ch_script_test(pages $<TARGET_FILE:clearhead> ${CMAKE_BINARY_DIR}/pages)
  ch_script_test(doxygen ${CMAKE_SOURCE_DIR})
  ch_script_test(swaps ${CMAKE_SOURCE_DIR} $<TARGET_FILE:clearhead>)
  ch_document_test(docs README.md)
  ch_document_test(docs_lesson docs/lesson.md)
  ch_document_test(docs_swaps docs/swaps.md)
endif()

get_property(ch_all_tests DIRECTORY PROPERTY TESTS)
set(ch_environment ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
  LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/data/libraries.supp:print_suppressions=0
  TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/tsan.supp)
set_tests_properties(${ch_all_tests} PROPERTIES TIMEOUT 600 ENVIRONMENT "${ch_environment}")
if(TEST slow_lesson)
  set_tests_properties(slow_lesson slow_sizes slow_text PROPERTIES LABELS slow TIMEOUT 3600)
endif()
