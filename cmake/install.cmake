include(CMakePackageConfigHelpers)
install(TARGETS roofcast EXPORT roofcastTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS roofcast_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES include/roofcast.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/roofcast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY gpus models software validation_data DESTINATION ${CMAKE_INSTALL_DATADIR}/roofcast)
install(EXPORT roofcastTargets NAMESPACE roofcast:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/roofcast)
configure_package_config_file(cmake/roofcastConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/roofcastConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/roofcast PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/roofcastConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/FindCsv.cmake cmake/FindOnnxProto.cmake ${CMAKE_CURRENT_BINARY_DIR}/roofcastConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/roofcastConfigVersion.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/roofcast)
