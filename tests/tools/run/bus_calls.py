"""Synchronous calls of D-Bus methods without arguments, by the libraries that programs use."""
import ctypes

ANSWER_MS = 60_000  # a busy machine is late to see what it waits for
# Loaded at the start: `lagwatch attach` sees what is there when it comes.
LIBDBUS = ctypes.CDLL("libdbus-1.so.3")
LIBSYSTEMD = ctypes.CDLL("libsystemd.so.0")


def path_of(name):
    return "/" + name.replace(".", "/")


def by_gdbus(bus, name, method):
    """By a thread of the library's own."""
    bus.call_sync(name, path_of(name), name, method, None, None, 0, ANSWER_MS)


def texts_of(name, method):
    return [text.encode() for text in (name, path_of(name), name, method)]


def by_libdbus(_bus, name, method):
    library = LIBDBUS
    for function in ("dbus_bus_get", "dbus_message_new_method_call", "dbus_connection_send_with_reply_and_block"):
        getattr(library, function).restype = ctypes.c_void_p
    session = 0
    connection = ctypes.c_void_p(library.dbus_bus_get(session, None))
    message = ctypes.c_void_p(library.dbus_message_new_method_call(*texts_of(name, method)))
    library.dbus_connection_send_with_reply_and_block(connection, message, ANSWER_MS, None)


def by_sdbus(_bus, name, method):
    library = LIBSYSTEMD
    connection = ctypes.c_void_p()
    library.sd_bus_default_user(ctypes.byref(connection))
    library.sd_bus_call_method(connection, *texts_of(name, method), None, None, None)


BY_LIBRARY = {"gdbus": by_gdbus, "libdbus": by_libdbus, "sdbus": by_sdbus}
