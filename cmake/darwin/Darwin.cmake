# The parts of lagwatch that are ported to Darwin, as static libraries: the core and the watchdog, and what is portable of the
# SDK; no hooks, no recorder of calls and no collector. docs/design/darwin.md says what has been checked.
find_package(Threads REQUIRED)
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp REQUIRED)
find_path(NLOHMANN_JSON_INCLUDE_DIR nlohmann/json.hpp REQUIRED)
add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
target_include_directories(nlohmann_json::nlohmann_json INTERFACE ${NLOHMANN_JSON_INCLUDE_DIR})
set(ZLIB_STATIC z)

# lagwatch_optional_library(TARGET SOURCE…): sources that are left out where the library is not there.
function(lagwatch_optional_library TARGET)
  if(TARGET ${TARGET})
    return()
  endif()
  add_library(${TARGET} INTERFACE IMPORTED GLOBAL)
  set(LAGWATCH_LEFT_OUT_SOURCES ${LAGWATCH_LEFT_OUT_SOURCES} ${ARGN} PARENT_SCOPE)
endfunction()
find_package(CURL)
lagwatch_optional_library(CURL::libcurl report/upload/transport/http_client.cc)
find_package(OpenSSL)
lagwatch_optional_library(OpenSSL::Crypto report/config/signed_document.cc report/config/signing_key.cc
  report/probes/script_allowlist.cc report/seal/record_opener.cc report/seal/record_sealer.cc report/seal/seal_key.cc report/seal/session_keys.cc)
find_package(ZLIB)
lagwatch_optional_library(ZLIB::ZLIB)

foreach(module base stack policies trace watchdog report sdk)
  add_subdirectory(${module})
endforeach()

# Linked, but never run here.
add_executable(watch_once tests/darwin/watch_once.cc)
set_target_properties(watch_once PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # it is so in any case
target_include_directories(watch_once PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(watch_once PRIVATE lagwatch::watchdog)
lagwatch_compile_options(watch_once)
