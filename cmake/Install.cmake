# What `cmake --install` puts where: header, both libraries, the command with its manual pages and completions, recipes,
# and how others find them.
include(CMakePackageConfigHelpers)
set(ch_package ${CMAKE_INSTALL_LIBDIR}/cmake/clearhead)

install(FILES include/clearhead.h TYPE INCLUDE)
install(TARGETS clearhead RUNTIME)
install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/clearhead)
install(TARGETS ch_shared EXPORT clearhead LIBRARY INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ch_static ch_libraries EXPORT clearhead_static ARCHIVE
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set_target_properties(ch_shared PROPERTIES EXPORT_NAME clearhead)
set_target_properties(ch_static PROPERTIES EXPORT_NAME clearhead_static)
set_target_properties(ch_libraries PROPERTIES EXPORT_NAME libraries)

# find_package(clearhead) gives the target clearhead::clearhead, its component static clearhead::clearhead_static.
install(EXPORT clearhead NAMESPACE clearhead:: FILE clearhead-targets.cmake DESTINATION ${ch_package})
install(EXPORT clearhead_static NAMESPACE clearhead:: FILE clearhead-static-targets.cmake DESTINATION ${ch_package})
list(JOIN CH_PACKAGES " " CH_PACKAGES)
list(JOIN CH_MODULES " " CH_MODULES)
configure_package_config_file(cmake/clearhead-config.cmake.in ${CMAKE_BINARY_DIR}/clearhead-config.cmake
  INSTALL_DESTINATION ${ch_package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/clearhead-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/clearhead-config.cmake ${CMAKE_BINARY_DIR}/clearhead-config-version.cmake
  cmake/FindOneDNN.cmake DESTINATION ${ch_package})

# pkg-config clearhead; with --static, what the static library stands on.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(ch_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else() # wherever the tree is moved to
  file(RELATIVE_PATH ch_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  set(ch_pc_prefix "\${pcfiledir}/${ch_pc_prefix}")
endif()
cmake_path(APPEND ch_pc_libdir "\${prefix}" "${CMAKE_INSTALL_LIBDIR}") # an absolute one stands alone
cmake_path(APPEND ch_pc_includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
configure_file(cmake/clearhead.pc.in ${CMAKE_BINARY_DIR}/clearhead.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/clearhead.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The command writes its own manual pages and completions.
set(ch_pages ${CMAKE_BINARY_DIR}/pages)
add_custom_command(OUTPUT ${ch_pages}/written
  COMMAND ${CMAKE_COMMAND} -DCOMMAND=$<TARGET_FILE:clearhead> -DFOLDER=${ch_pages}
    -P ${CMAKE_SOURCE_DIR}/cmake/Pages.cmake
  DEPENDS clearhead ${CMAKE_SOURCE_DIR}/cmake/Pages.cmake VERBATIM)
add_custom_target(ch_pages ALL DEPENDS ${ch_pages}/written)
install(DIRECTORY ${ch_pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${ch_pages}/clearhead DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${ch_pages}/_clearhead DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${ch_pages}/clearhead.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
