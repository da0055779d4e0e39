/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that are linked with a static Lua or LuaJIT and do not export its functions: reports then have
 * the functions, files and lines of scripts, as those of other programs with Lua have without this. Include
 * Lua's own lua.h, lauxlib.h and lualib.h before it, or have lua.h on the include path. */
#ifndef LAGWATCH_LUA_H_
#define LAGWATCH_LUA_H_

#include <lagwatch/c.h>

#ifdef __cplusplus
extern "C" {
#endif
#if !defined(LUA_VERSION_NUM) && defined(__has_include)
#if __has_include(<lua.h>)
#include <lua.h>
#endif
#endif
/* LuaJIT's lua.h does not say that it is one. */
#if defined(LUA_LJDIR) && !defined(LUAJIT_VERSION)
#include <luajit.h>
#endif
#ifdef __cplusplus
}
#endif

#ifdef LUA_VERSION_NUM

#define LW_LUA_FUNCTION(name) \
  { #name, (void (*)(void))(name) }

/* Names Lua's functions to lagwatch. Once, at any time; see lw_register_functions(). */
static inline void lw_register_lua(void) LW_NOEXCEPT {
  static const lw_function functions[] = {
#ifdef LUAJIT_VERSION
    LW_LUA_FUNCTION(luaJIT_setmode),
#endif
#if LUA_VERSION_NUM == 501
    LW_LUA_FUNCTION(lua_call),
    LW_LUA_FUNCTION(lua_pcall),
    LW_LUA_FUNCTION(lua_cpcall),
    LW_LUA_FUNCTION(lua_equal),
    LW_LUA_FUNCTION(lua_lessthan),
#else
    LW_LUA_FUNCTION(lua_callk),
    LW_LUA_FUNCTION(lua_pcallk),
    LW_LUA_FUNCTION(lua_compare),
    LW_LUA_FUNCTION(lua_arith),
    LW_LUA_FUNCTION(lua_len),
    LW_LUA_FUNCTION(lua_getglobal),
    LW_LUA_FUNCTION(lua_setglobal),
#endif
#if LUA_VERSION_NUM >= 503
    LW_LUA_FUNCTION(lua_rotate),
    LW_LUA_FUNCTION(lua_geti),
    LW_LUA_FUNCTION(lua_seti),
#endif
#if LUA_VERSION_NUM == 504
    LW_LUA_FUNCTION(lua_setwarnf),
#if defined(LUA_VERSION_RELEASE_NUM) && LUA_VERSION_RELEASE_NUM >= 50403
    LW_LUA_FUNCTION(lua_closeslot),
#endif
#endif
    LW_LUA_FUNCTION(lua_newstate),
    LW_LUA_FUNCTION(lua_resume),
    LW_LUA_FUNCTION(lua_gettable),
    LW_LUA_FUNCTION(lua_settable),
    LW_LUA_FUNCTION(lua_getfield),
    LW_LUA_FUNCTION(lua_setfield),
    LW_LUA_FUNCTION(lua_concat),
    LW_LUA_FUNCTION(lua_gc),
    LW_LUA_FUNCTION(lua_close),
    LW_LUA_FUNCTION(lua_settop),
    LW_LUA_FUNCTION(lua_load),
    LW_LUA_FUNCTION(lua_newthread),
    LW_LUA_FUNCTION(lua_pushlstring),
    LW_LUA_FUNCTION(lua_createtable),
#ifdef lauxlib_h
    LW_LUA_FUNCTION(luaL_newstate),
#endif
#ifdef lualib_h
    LW_LUA_FUNCTION(luaL_openlibs),
    LW_LUA_FUNCTION(luaopen_base),
    LW_LUA_FUNCTION(luaopen_string),
#endif
  };
  lw_register_functions(functions, sizeof functions / sizeof functions[0]);
}

#undef LW_LUA_FUNCTION

#endif

#endif /* LAGWATCH_LUA_H_ */
