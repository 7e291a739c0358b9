# A unity build compiles each folder of a target as one source: the same code in a quarter of the time.
# Names in anonymous namespaces must therefore differ within a folder.
function(roofcast_unity target)
    get_target_property(directory ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${directory} NORMALIZE)
        cmake_path(GET source PARENT_PATH folder)
        cmake_path(GET folder FILENAME group)
        set_property(SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP ${group})
    endforeach()
    if(ROOFCAST_UNITY)
        # A local name that another source declares too shadows nothing of its own source.
        target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>)
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${ROOFCAST_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()
