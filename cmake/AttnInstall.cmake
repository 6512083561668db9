# `cmake --install`: the tools, the runtime that compiled libraries are linked
# with, the public headers, a CMake package and a pkg-config file.

include_guard()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# attnc looks for the runtime in ../lib, so these two folders are not a choice.
set(CMAKE_INSTALL_BINDIR bin)
set(CMAKE_INSTALL_LIBDIR lib)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/attn)

# MLIR's shared libraries stay where they are.
set_target_properties(attnc attn-opt PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS attnc attn-opt attn-run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS attn_runtime ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY runtime/include/attn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/attnConfig.cmake.in attnConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(attnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_BINARY_DIR}/attnConfig.cmake
  ${CMAKE_BINARY_DIR}/attnConfigVersion.cmake
  cmake/AttnAddModel.cmake
  DESTINATION ${package_dir})

configure_file(cmake/attn.pc.in attn.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/attn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
