# Man pages and completion scripts, which the program makes of its own help.
set(manual_folder ${PROJECT_BINARY_DIR}/manuals)
add_custom_command(OUTPUT ${manual_folder}/man1/roofcast.1 ${manual_folder}/roofcast ${manual_folder}/_roofcast ${manual_folder}/roofcast.fish
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual_folder}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${manual_folder}
    COMMAND roofcast_cli help --man ${manual_folder}/man1
    COMMAND roofcast_cli completion bash > ${manual_folder}/roofcast
    COMMAND roofcast_cli completion zsh > ${manual_folder}/_roofcast
    COMMAND roofcast_cli completion fish > ${manual_folder}/roofcast.fish
    DEPENDS roofcast_cli
    COMMENT "Writing man pages and completion scripts")
add_custom_target(roofcast_manuals ALL DEPENDS ${manual_folder}/man1/roofcast.1)

install(DIRECTORY ${manual_folder}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${manual_folder}/roofcast DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${manual_folder}/_roofcast DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${manual_folder}/roofcast.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
