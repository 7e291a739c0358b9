# Warnings, optional -Werror and sanitizers of one of our targets.
function(roofcast_warnings target)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wno-missing-field-initializers)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
        # GCC 12 reports overlaps that cannot be in std::string's operator+ (GCC bug 105651).
        target_compile_options(${target} PRIVATE -Wno-restrict)
    endif()
    if(ROOFCAST_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    if(ROOFCAST_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
        if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
            # Under the sanitizers GCC takes the other alternatives of a std::variant for uninitialized ones (GCC bug 105562).
            target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
        endif()
        target_link_options(${target} PRIVATE -fsanitize=address,undefined)
    endif()
endfunction()
