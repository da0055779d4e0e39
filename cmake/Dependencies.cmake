# Debian's packages, as imported targets. scripts/bootstrap installs them.
find_package(Threads REQUIRED)

if(LAGWATCH_CAPTURE_ONLY)
  # Cross-built: GoogleTest comes as Debian's sources.
  set(INSTALL_GTEST OFF)
  add_subdirectory(/usr/src/googletest ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL SYSTEM)
  return()
endif()

find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CURL REQUIRED)
find_package(nlohmann_json REQUIRED)
# Off for static ones, which liblagwatch.so has within it.
set(late_libraries OFF)
if(CMAKE_SYSTEM_NAME STREQUAL Linux AND CMAKE_SIZEOF_VOID_P EQUAL 8 AND CURL_LIBRARIES MATCHES "\\.so" AND
   OPENSSL_CRYPTO_LIBRARY MATCHES "\\.so" AND OPENSSL_VERSION VERSION_GREATER_EQUAL 3)
  set(late_libraries ON)
endif()
option(LAGWATCH_LATE_LIBRARIES "liblagwatch.so loads libcurl and OpenSSL when it needs them, not at its start"
       ${late_libraries})
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp REQUIRED)

# Decompression of ELF sections. Static, because they come along into programs that may not have the shared ones.
find_library(LIBLZMA_STATIC liblzma.a REQUIRED)
find_library(ZLIB_STATIC libz.a REQUIRED)
if(CMAKE_SYSTEM_NAME STREQUAL Android)  # their headers are none of the system's
  find_path(LIBLZMA_INCLUDE_DIR lzma.h REQUIRED)
  include_directories(SYSTEM ${ZLIB_INCLUDE_DIRS} ${LIBLZMA_INCLUDE_DIR})
endif()

if(LAGWATCH_BUILD_COMMANDS OR LAGWATCH_BUILD_COLLECTOR)
  find_package(SQLite3 REQUIRED)
  find_library(LIBIBERTY iberty REQUIRED)
  find_library(LIBDEBUGINFOD debuginfod REQUIRED)
  find_library(LIBDW dw REQUIRED)
  find_library(LIBELF elf REQUIRED)
  find_library(LIBLZMA lzma REQUIRED)
  find_library(LIBZSTD zstd REQUIRED)
  find_package(CLI11 REQUIRED)
  find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
endif()
if(LAGWATCH_BUILD_COLLECTOR)
  find_package(Boost 1.74 REQUIRED)
  find_package(spdlog REQUIRED)
  find_package(prometheus-cpp REQUIRED)
endif()
# For `lagwatch watch --bpf`, which is left out without them.
if(CMAKE_SYSTEM_NAME STREQUAL Linux AND NOT CMAKE_CROSSCOMPILING)
  find_program(BPF_CLANG clang)
  find_library(LIBBPF_STATIC libbpf.a)
  find_library(LIBELF elf)
  # For the question to windows, which is left out without them. Static: servers have no shared ones.
  find_library(XCB_STATIC libxcb.a)
  find_library(XAU_STATIC libXau.a)
  find_library(XDMCP_STATIC libXdmcp.a)
  find_library(BSD_STATIC libbsd.a)
  find_library(MD_STATIC libmd.a)
  if(XCB_STATIC AND XAU_STATIC AND XDMCP_STATIC AND BSD_STATIC AND MD_STATIC)
    set(XCB_STATIC_LIBRARIES ${XCB_STATIC} ${XAU_STATIC} ${XDMCP_STATIC} ${BSD_STATIC} ${MD_STATIC})
  endif()
  # For what compositors say, which is left out without them. The library itself is loaded where there is one.
  find_path(DBUS_INCLUDE dbus/dbus.h PATH_SUFFIXES dbus-1.0)
  find_path(DBUS_ARCH_INCLUDE dbus/dbus-arch-deps.h PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/dbus-1.0/include)
endif()
if(LAGWATCH_DEVELOPER_MODE AND LAGWATCH_BUILD_TESTS)
  find_package(GTest REQUIRED)
  # The reference for our unwinder: libunwind's remote variant, for copied stacks. Its name includes the processor's.
  find_library(LIBUNWIND_REMOTE unwind-${CMAKE_SYSTEM_PROCESSOR} REQUIRED)
endif()
